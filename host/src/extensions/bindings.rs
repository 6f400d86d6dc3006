//! What wasmtime makes of `wit/`.

wasmtime::component::bindgen!({
    path: "../wit",
    world: "extension",
    imports: { default: async },
    exports: { default: async },
    // For tests of extensions, which speak JSON with a sandbox.
    additional_derives: [serde::Serialize, serde::Deserialize],
});
