//! Files for a model.

use rig_core::message::{
    Audio, AudioMediaType, Document, DocumentMediaType, DocumentSourceKind as Source, Image, ImageMediaType,
    MimeType, UserContent, Video, VideoMediaType,
};

/// A file as rig takes it. What a provider cannot read, rig replaces by a line that says so.
pub(super) fn content(media_type: &str, url: &str) -> UserContent {
    let media_type = media_type.split(';').next().unwrap_or_default().trim().to_lowercase();
    let data = source(url);
    match media_type.split('/').next() {
        Some("image") => UserContent::Image(Image {
            data,
            media_type: ImageMediaType::from_mime_type(&media_type),
            ..Image::default()
        }),
        Some("audio") => {
            UserContent::Audio(Audio { data, media_type: AudioMediaType::from_mime_type(&media_type) })
        }
        Some("video") => UserContent::Video(Video {
            data,
            media_type: VideoMediaType::from_mime_type(&media_type),
            ..Video::default()
        }),
        _ => {
            let known = DocumentMediaType::from_mime_type(&media_type);
            let media_type = known.or_else(|| is_text(&media_type).then_some(DocumentMediaType::TXT));
            UserContent::Document(Document { data, media_type, ..Document::default() })
        }
    }
}

fn is_text(media_type: &str) -> bool {
    media_type.starts_with("text/") || media_type.ends_with("json") || media_type.ends_with("xml")
}

fn source(url: &str) -> Source {
    let Some((head, data)) = url.strip_prefix("data:").and_then(|rest| rest.split_once(',')) else {
        return Source::Url(url.to_owned());
    };
    if head.ends_with(";base64") { Source::Base64(data.to_owned()) } else { Source::String(unescaped(data)) }
}

/// Text with its `%20`s read.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        let escaped = (*byte == b'%')
            .then(|| after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok()))
            .flatten()
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        bytes.push(escaped.unwrap_or(*byte));
        rest = if escaped.is_some() { after.get(2..).unwrap_or_default() } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_urls_are_read_and_others_passed_on() {
        assert_eq!(source("https://a/b.png"), Source::Url("https://a/b.png".into()));
        assert_eq!(source("data:image/png;base64,aGk="), Source::Base64("aGk=".into()));
        assert_eq!(source("data:,50%25%20%C3%A9%"), Source::String("50% é%".into()));
    }

    #[test]
    fn the_media_type_says_what_it_is() {
        let image = content("image/PNG", "data:image/png;base64,aGk=");
        assert!(
            matches!(image, UserContent::Image(Image { media_type: Some(ImageMediaType::PNG), .. })),
            "{image:?}"
        );
        let json = content("application/json", "data:application/json;base64,e30=");
        let UserContent::Document(json) = json else { panic!("{json:?}") };
        assert_eq!(json.media_type, Some(DocumentMediaType::TXT));
    }
}
