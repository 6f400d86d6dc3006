//! What must not compile.
//!
//! A method that is no hook:
//!
//! ```compile_fail,E0407
//! # use lathe_guest::prelude::*;
//! # #[derive(Default)]
//! # struct Wrong;
//! #[extension(name = "wrong")]
//! impl Extension for Wrong {
//!     fn before_tun(&mut self, turn: TurnSnapshot) -> Result<Option<TurnConfig>> {
//!         Ok(None)
//!     }
//! }
//! ```
//!
//! A name that the host refuses:
//!
//! ```compile_fail
//! # use lathe_guest::prelude::*;
//! # #[derive(Default)]
//! # struct Wrong;
//! #[extension(name = "Not a name")]
//! impl Extension for Wrong {}
//! ```
//!
//! An argument that the attribute does not know:
//!
//! ```compile_fail
//! # use lathe_guest::prelude::*;
//! # #[derive(Default)]
//! # struct Wrong;
//! #[extension(name = "wrong", hooks = "before_turn")]
//! impl Extension for Wrong {}
//! ```
//!
//! A tool whose input has no schema:
//!
//! ```compile_fail,E0277
//! # use lathe_guest::prelude::*;
//! # #[derive(Default)]
//! # struct Wrong;
//! #[extension(name = "wrong")]
//! impl Extension for Wrong {
//!     fn tools() -> Tools<Self> {
//!         Tools::new().tool("tool", Self::tool)
//!     }
//! }
//!
//! #[derive(Deserialize)]
//! struct Input {}
//!
//! impl Wrong {
//!     fn tool(&mut self, _: Input) -> Result<(), ToolError> {
//!         Ok(())
//!     }
//! }
//! ```
