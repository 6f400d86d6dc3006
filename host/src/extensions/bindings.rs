//! What wasmtime makes of `wit/`.

wasmtime::component::bindgen!({
    path: "../wit",
    world: "extension",
    imports: { default: async },
    exports: { default: async },
});
