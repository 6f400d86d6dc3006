//! The attribute that makes an `impl Extension` the extension of its component.
//!
//! Use it through `lathe_guest::prelude`; the documentation is there.

mod expand;
mod header;

use proc_macro::TokenStream;
use syn::parse_macro_input;

/// Registers the type of this `impl Extension` block as the component's extension.
///
/// The hooks written in the block become the manifest's list of hooks, so the host calls these and no other.
/// Arguments, all optional:
///
/// | argument | without it |
/// |---|---|
/// | `name = "…"` | the package's name |
/// | `version = "…"` | the package's version |
/// | `description = "…"` | the package's description |
///
/// The name is a word of `a-z`, `0-9` and `-`.
#[proc_macro_attribute]
pub fn extension(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let header = parse_macro_input!(arguments as header::Header);
    let item = parse_macro_input!(item as syn::ItemImpl);
    expand::expand(&header, &item).unwrap_or_else(syn::Error::into_compile_error).into()
}
