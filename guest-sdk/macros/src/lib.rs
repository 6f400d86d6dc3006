//! The attributes that make an `impl Extension` the extension of its component, and methods its tools.
//!
//! Use it through `lathe_guest::prelude`; the documentation is there.

mod expand;
mod header;
mod tools;

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

/// Makes tools of the methods of an `impl` block that are marked with `#[tool]`.
///
/// A tool is named as its method, and its description for the model is the method's doc comment, or the one of its input
/// type if it has none. In the brackets may stand `replay_safe`, `sequential` and `needs_approval`, which do what the methods
/// of `Tool` do. The block gets a function `offered` that lists them, for `Extension::tools`:
///
/// ```ignore
/// use lathe_guest::prelude::*;
///
/// #[derive(Default)]
/// struct Dice;
///
/// #[extension(name = "dice", description = "Rolls dice")]
/// impl Extension for Dice {
///     fn tools() -> Tools<Self> {
///         Self::offered()
///     }
/// }
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Sides {
///     sides: u32,
/// }
///
/// #[tools]
/// impl Dice {
///     /// The most that a die can show.
///     #[tool(replay_safe)]
///     fn most(&mut self, die: Sides) -> Result<u32> {
///         Ok(die.sides)
///     }
/// }
///
/// let manifest = lathe_guest::testing::TestHost::<Dice>::new().manifest();
/// assert_eq!(manifest.tools[0].description, "The most that a die can show.");
/// ```
#[proc_macro_attribute]
pub fn tools(arguments: TokenStream, item: TokenStream) -> TokenStream {
    if !arguments.is_empty() {
        let error = syn::Error::new(proc_macro2::Span::call_site(), "this takes no arguments");
        return error.into_compile_error().into();
    }
    let item = parse_macro_input!(item as syn::ItemImpl);
    tools::expand(item).unwrap_or_else(syn::Error::into_compile_error).into()
}
