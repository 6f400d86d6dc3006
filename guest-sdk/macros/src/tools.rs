//! Tools out of the methods of an `impl` block.

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::{Attribute, Error, Expr, ExprLit, Ident, ImplItem, ItemImpl, Lit, Meta, Result, Token};

/// What may stand in the brackets of `#[tool(…)]`: the methods of `Tool`.
const OPTIONS: [&str; 3] = ["replay_safe", "sequential", "needs_approval"];

pub(crate) fn expand(mut item: ItemImpl) -> Result<TokenStream> {
    if let Some((_, path, _)) = &item.trait_ {
        return Err(Error::new_spanned(
            path,
            "put this on the `impl` block of the tools' methods, without a trait",
        ));
    }
    let mut tools = Vec::new();
    for item in &mut item.items {
        let ImplItem::Fn(method) = item else { continue };
        let Some(place) = method.attrs.iter().position(|attribute| attribute.path().is_ident("tool")) else {
            continue;
        };
        let options = options(&method.attrs.remove(place))?;
        let method_name = &method.sig.ident;
        let name = method_name.to_string();
        let description = description(&method.attrs).map(|text| quote! { .description(#text) });
        tools.push(quote! {
            .with(::lathe_guest::Tool::new(#name, Self::#method_name) #description #(.#options())*)
        });
    }
    if tools.is_empty() {
        return Err(Error::new_spanned(&item.self_ty, "no method here is marked with `#[tool]`"));
    }
    let extension = &item.self_ty;
    Ok(quote! {
        #item

        impl #extension {
            /// The tools of the methods that are marked with `#[tool]`.
            fn offered() -> ::lathe_guest::Tools<Self> {
                ::lathe_guest::Tools::new() #(#tools)*
            }
        }
    })
}

fn options(attribute: &Attribute) -> Result<Vec<Ident>> {
    let listed = match &attribute.meta {
        Meta::Path(_) => return Ok(Vec::new()),
        Meta::List(list) => Punctuated::<Ident, Token![,]>::parse_terminated.parse2(list.tokens.clone())?,
        Meta::NameValue(value) => return Err(Error::new_spanned(value, "write `#[tool]` or `#[tool(…)]`")),
    };
    for option in &listed {
        if !OPTIONS.iter().any(|known| option == known) {
            return Err(Error::new(option.span(), format!("expected one of {}", OPTIONS.join(", "))));
        }
    }
    Ok(listed.into_iter().collect())
}

/// The doc comment, as a text of paragraphs.
fn description(attributes: &[Attribute]) -> Option<String> {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(meta) if meta.path.is_ident("doc") => match &meta.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value().trim().to_owned()),
            _ => None,
        },
        _ => None,
    });
    let lines: Vec<String> = lines.collect();
    let paragraphs =
        lines.split(String::is_empty).filter(|lines| !lines.is_empty()).map(|lines| lines.join(" "));
    let text = paragraphs.collect::<Vec<String>>().join("\n\n");
    (!text.is_empty()).then_some(text)
}
