//! The same guest called through wasmtime alone, with fuel and an empty WASI: what any host pays.

mod bindings {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "extension",
        imports: { default: async },
        exports: { default: async },
    });
}

use std::path::Path;
use std::time::Duration;

use bindings::exports::lathe::extension::hooks::{Chunk, ChunkType, Trigger, TurnSnapshot};
use bindings::exports::lathe::extension::tools::CallContext;
use bindings::{Extension, ExtensionPre};
use serde_json::json;
use tokio::time::Instant;
use wasmtime::component::{Component, Linker, ResourceTable};
use wasmtime::{Config, Engine, Store};
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};

use crate::payload;

/// As the host gives to one call.
const FUEL: u64 = 200_000_000;

pub(crate) struct Floor {
    engine: Engine,
    pre: ExtensionPre<State>,
}

struct State {
    wasi: WasiCtx,
    table: ResourceTable,
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl Floor {
    pub(crate) fn new(file: &Path) -> Self {
        let mut config = Config::new();
        config.consume_fuel(true).concurrency_support(false);
        let engine = Engine::new(&config).unwrap();
        let component = Component::from_file(&engine, file).unwrap();
        let mut linker = Linker::new(&engine);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker).unwrap();
        linker.define_unknown_imports_as_traps(&component).unwrap();
        let pre = ExtensionPre::new(linker.instantiate_pre(&component).unwrap()).unwrap();
        Self { engine, pre }
    }

    async fn instance(&self) -> (Store<State>, Extension) {
        let state = State { wasi: WasiCtxBuilder::new().build(), table: ResourceTable::new() };
        let mut store = Store::new(&self.engine, state);
        store.set_fuel(FUEL).unwrap();
        let guest = self.pre.instantiate_async(&mut store).await.unwrap();
        (store, guest)
    }

    /// One call a chunk, in one instance.
    pub(crate) async fn on_chunk(&self, iterations: u32) -> Duration {
        let (mut store, guest) = self.instance().await;
        let chunks = [Chunk {
            type_: ChunkType::TextDelta,
            text: Some(payload::DELTA.into()),
            tool_name: None,
            tool_call_id: None,
        }];
        let begun = Instant::now();
        for _ in 0..iterations {
            store.set_fuel(FUEL).unwrap();
            guest.lathe_extension_hooks().call_on_chunk(&mut store, &chunks).await.unwrap().unwrap();
        }
        begun.elapsed()
    }

    /// Each in an instance of its own.
    pub(crate) async fn before_turn(&self, iterations: u32) -> Duration {
        let snapshot = TurnSnapshot {
            system: payload::system(),
            tool_names: payload::tool_names(),
            message_count: 1,
            max_steps: 10,
            continuation: false,
            body: None,
            model_id: "scripted:test".into(),
            request_id: "request".into(),
            trigger: Trigger::Programmatic,
        };
        let begun = Instant::now();
        for _ in 0..iterations {
            let (mut store, guest) = self.instance().await;
            let hooks = guest.lathe_extension_hooks();
            let config = hooks.call_before_turn(&mut store, &snapshot).await.unwrap().unwrap().unwrap();
            assert!(config.system.is_some_and(|system| system.ends_with("English.")));
        }
        begun.elapsed()
    }

    /// Each in an instance of its own.
    pub(crate) async fn tool_call(&self, iterations: u32) -> Duration {
        let context = CallContext {
            tool_call_id: "call".into(),
            request_id: "request".into(),
            step_number: 0,
            idempotency_key: "s/request/call".into(),
        };
        let input = json!({ "text": payload::text() }).to_string();
        let begun = Instant::now();
        for _ in 0..iterations {
            let (mut store, guest) = self.instance().await;
            let tools = guest.lathe_extension_tools();
            let output = tools.call_call(&mut store, "echo", &input, &context).await.unwrap().unwrap();
            assert_eq!(output, input);
        }
        begun.elapsed()
    }
}
