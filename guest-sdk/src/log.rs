//! Lines for the operator.
//!
//! ```
//! use lathe_guest::log;
//!
//! let steps = 3;
//! log::info!("the turn took {steps} steps");
//! ```

use crate::host;

pub use crate::bindings::lathe::extension::log::Level;

/// Writes one record. The host puts the extension's name before it, and cuts it at its limit.
pub fn write(level: Level, message: impl AsRef<str>) {
    host::log::log(level, message.as_ref());
}

/// For whoever follows every step of the extension. Takes what `format!` takes.
#[doc(hidden)]
#[macro_export]
macro_rules! __trace {
    ($($text:tt)*) => {
        $crate::log::write($crate::log::Level::Trace, ::std::format!($($text)*))
    };
}
/// For whoever looks into the extension. Takes what `format!` takes.
#[doc(hidden)]
#[macro_export]
macro_rules! __debug {
    ($($text:tt)*) => {
        $crate::log::write($crate::log::Level::Debug, ::std::format!($($text)*))
    };
}
/// What is worth a line in normal work. Takes what `format!` takes.
#[doc(hidden)]
#[macro_export]
macro_rules! __info {
    ($($text:tt)*) => {
        $crate::log::write($crate::log::Level::Info, ::std::format!($($text)*))
    };
}
/// What the operator should look at. Takes what `format!` takes.
#[doc(hidden)]
#[macro_export]
macro_rules! __warn {
    ($($text:tt)*) => {
        $crate::log::write($crate::log::Level::Warn, ::std::format!($($text)*))
    };
}
/// What went wrong. Takes what `format!` takes.
#[doc(hidden)]
#[macro_export]
macro_rules! __error {
    ($($text:tt)*) => {
        $crate::log::write($crate::log::Level::Error, ::std::format!($($text)*))
    };
}
#[doc(inline)]
pub use {__debug as debug, __error as error, __info as info, __trace as trace, __warn as warn};
