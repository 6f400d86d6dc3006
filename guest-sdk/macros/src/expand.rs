//! The code that the attribute adds to the block.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Error, Ident, ImplItem, ImplItemFn, ItemImpl, LitStr, Result};

use crate::header::Header;

/// The methods that are hooks, and the manifest's word for each.
const HOOKS: [(&str, &str); 8] = [
    ("before_turn", "BeforeTurn"),
    ("before_step", "BeforeStep"),
    ("before_tool_call", "BeforeToolCall"),
    ("after_tool_call", "AfterToolCall"),
    ("on_step_finish", "OnStepFinish"),
    ("on_chunk", "OnChunk"),
    ("on_chat_response", "OnChatResponse"),
    ("on_chat_error", "OnChatError"),
];

pub(crate) fn expand(header: &Header, item: &ItemImpl) -> Result<TokenStream> {
    check(item)?;
    let extension = &item.self_ty;
    let hooks = item.items.iter().filter_map(hook);
    let name = or_package(header.name.as_ref(), "CARGO_PKG_NAME");
    let version = or_package(header.version.as_ref(), "CARGO_PKG_VERSION");
    let description = or_package(header.description.as_ref(), "CARGO_PKG_DESCRIPTION");
    Ok(quote! {
        #item

        #[doc(hidden)]
        const _: () = {
            use ::lathe_guest::__private as lathe;

            ::std::thread_local! {
                static INSTANCE: ::std::cell::RefCell<#extension> = ::std::default::Default::default();
            }

            impl lathe::Registered for #extension {
                const NAME: &'static str = #name;
                const VERSION: &'static str = #version;
                const DESCRIPTION: &'static str = #description;
                const HOOKS: &'static [lathe::Hook] = &[#(#hooks),*];

                fn with<R>(work: impl ::std::ops::FnOnce(&mut Self) -> R) -> R {
                    INSTANCE.with_borrow_mut(work)
                }
            }

            // Elsewhere nothing exports it, and the compiler would call all of it unused.
            #[cfg(not(target_family = "wasm"))]
            const _: fn() -> lathe::Manifest = lathe::describe::<#extension>;

            // Only there: on other targets the exported symbols of two extensions in one test would clash.
            #[cfg(target_family = "wasm")]
            type Component = lathe::Component<#extension>;
            #[cfg(target_family = "wasm")]
            lathe::export!(Component with_types_in lathe::bindings);
        };
    })
}

fn check(item: &ItemImpl) -> Result<()> {
    let named = |path: &syn::Path| path.segments.last().is_some_and(|last| last.ident == "Extension");
    match &item.trait_ {
        Some((None, path, _)) if named(path) => {}
        _ => return Err(Error::new_spanned(&item.self_ty, "put this on an `impl Extension for …` block")),
    }
    if item.generics.params.is_empty() {
        return Ok(());
    }
    Err(Error::new_spanned(&item.generics, "a component is one type: no parameters here"))
}

/// The manifest's entry for a method, under the same conditions as the method.
fn hook(item: &ImplItem) -> Option<TokenStream> {
    let ImplItem::Fn(ImplItemFn { attrs, sig, .. }) = item else { return None };
    let (_, word) = HOOKS.iter().find(|(method, _)| sig.ident == method)?;
    let conditions = attrs.iter().filter(|attribute: &&Attribute| attribute.path().is_ident("cfg"));
    let word = Ident::new(word, sig.ident.span());
    Some(quote! { #(#conditions)* lathe::Hook::#word })
}

fn or_package(given: Option<&LitStr>, variable: &str) -> TokenStream {
    given.map_or_else(|| quote! { ::std::env!(#variable) }, |text| quote! { #text })
}
