//! Generated from `wit/`: the contract, in Rust.

#![allow(missing_docs, unsafe_code, unreachable_pub, clippy::all, clippy::pedantic)]

wit_bindgen::generate!({
    path: "wit",
    world: "extension",
    pub_export_macro: true,
    default_bindings_module: "lathe_guest::bindings",
    // For the sandbox of tests, which speaks JSON; code that nobody calls is not in a component.
    additional_derives: [serde::Serialize, serde::Deserialize],
    // Defaults, so that a test names only the fields it is about.
    additional_type_attributes: {
        "lathe:extension/types@0.1.0/error-info": [#[derive(Default, PartialEq, Eq)]],
        "lathe:extension/types@0.1.0/finish-reason": [#[derive(Default)]],
        "lathe:extension/types@0.1.0/tool-choice": [#[derive(Default, PartialEq, Eq)]],
        "lathe:extension/types@0.1.0/usage": [#[derive(Default, PartialEq, Eq)]],
        "lathe:extension/messages@0.1.0/message": [#[derive(PartialEq, Eq)]],
        "lathe:extension/session@0.1.0/session-info": [#[derive(Default, PartialEq, Eq)]],
        "lathe:extension/extension-manifest@0.1.0/context-block": [#[derive(Default, PartialEq, Eq)]],
        "lathe:extension/extension-manifest@0.1.0/manifest": [#[derive(PartialEq, Eq)]],
        "lathe:extension/extension-manifest@0.1.0/permissions": [#[derive(Default, PartialEq, Eq)]],
        "lathe:extension/extension-manifest@0.1.0/replay": [#[derive(Default)]],
        "lathe:extension/extension-manifest@0.1.0/tool-definition": [#[derive(PartialEq, Eq)]],
        "lathe:extension/extension-manifest@0.1.0/workspace-access": [#[derive(Default)]],
        "lathe:extension/tools@0.1.0/call-context": [#[derive(Default, PartialEq, Eq)]],
        "lathe:extension/hooks@0.1.0/chat-error-snapshot": [#[derive(Default, PartialEq, Eq)]],
        "lathe:extension/hooks@0.1.0/chat-response-snapshot": [#[derive(Default, PartialEq, Eq)]],
        "lathe:extension/hooks@0.1.0/chunk": [#[derive(Default, PartialEq, Eq)]],
        "lathe:extension/hooks@0.1.0/chunk-type": [#[derive(Default)]],
        "lathe:extension/hooks@0.1.0/error-stage": [#[derive(Default)]],
        "lathe:extension/hooks@0.1.0/step-snapshot": [#[derive(Default, PartialEq, Eq)]],
        "lathe:extension/hooks@0.1.0/tool-outcome": [#[derive(Default)]],
        "lathe:extension/hooks@0.1.0/trigger": [#[derive(Default)]],
        "lathe:extension/hooks@0.1.0/turn-status": [#[derive(Default)]],
    },
    additional_member_attributes: {
        "lathe:extension/types@0.1.0/finish-reason.stop": [#[default]],
        "lathe:extension/types@0.1.0/tool-choice.auto": [#[default]],
        "lathe:extension/extension-manifest@0.1.0/replay.never": [#[default]],
        "lathe:extension/extension-manifest@0.1.0/workspace-access.none": [#[default]],
        "lathe:extension/hooks@0.1.0/chunk-type.text-delta": [#[default]],
        "lathe:extension/hooks@0.1.0/error-stage.turn": [#[default]],
        "lathe:extension/hooks@0.1.0/tool-outcome.executed": [#[default]],
        "lathe:extension/hooks@0.1.0/trigger.ws-chat": [#[default]],
        "lathe:extension/hooks@0.1.0/turn-status.completed": [#[default]],
    },
});
