use std::any::Any;
use std::panic::AssertUnwindSafe;

use futures::FutureExt;

use super::HookResult;

/// A built-in hook's answer; its panic as an error.
pub(super) async fn caught<T>(hook: impl Future<Output = HookResult<T>>) -> HookResult<T> {
    match AssertUnwindSafe(hook).catch_unwind().await {
        Ok(answer) => answer,
        Err(panic) => Err(format!("a built-in hook panicked: {}", panic_message(&*panic)).into()),
    }
}

/// What a panic said.
pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("it gave no message")
}
