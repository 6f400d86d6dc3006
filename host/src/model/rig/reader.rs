//! The answer, event by event.

use std::collections::{HashMap, HashSet, VecDeque};

use futures::{StreamExt, stream};
use rig_core::message::{AssistantContent, DocumentSourceKind, Image, MimeType, SourceLocation, Text};
use rig_core::streaming::{CompletionStream, Item, PartKind, StreamEvent};

use super::super::registry::ProviderKind;
use super::super::{ModelError, ModelEvent, ModelStream};
use super::failure::Failures;
use super::finish;
use super::ids::CallIds;
use super::metadata::Keeper;
use super::peek::Peek;

/// Reads rig's events and tells ours.
pub(super) struct Reader {
    /// Gone once the answer has ended.
    stream: Option<CompletionStream>,
    kind: ProviderKind,
    keeper: Keeper,
    failures: Failures,
    ids: CallIds,
    peek: Peek,
    told: VecDeque<Result<ModelEvent, ModelError>>,
    introduced: bool,
    /// The calls that have begun, by part: id and input so far.
    calls: HashMap<usize, (String, String)>,
    called: bool,
    sources: HashSet<String>,
}

impl Reader {
    pub(super) fn new(
        stream: CompletionStream,
        kind: ProviderKind,
        keeper: Keeper,
        failures: Failures,
        ids: CallIds,
        peek: Peek,
    ) -> Self {
        Self {
            stream: Some(stream),
            kind,
            keeper,
            failures,
            ids,
            peek,
            told: VecDeque::new(),
            introduced: false,
            calls: HashMap::new(),
            called: false,
            sources: HashSet::new(),
        }
    }

    /// Waits until the answer begins.
    ///
    /// # Errors
    ///
    /// When it fails before.
    pub(super) async fn open(mut self) -> Result<ModelStream, ModelError> {
        if let Some(Err(error)) = self.next().await {
            return Err(error.clone());
        }
        Ok(stream::unfold(self, async |mut reader| reader.pop().await.map(|event| (event, reader))).boxed())
    }

    async fn pop(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        self.next().await;
        self.told.pop_front()
    }

    /// Reads until there is something to tell, and shows it.
    async fn next(&mut self) -> Option<&Result<ModelEvent, ModelError>> {
        while self.told.is_empty() {
            let stream = self.stream.as_mut()?;
            match stream.next().await {
                Some(Ok(Item::Event(event))) => {
                    self.introduce(None);
                    self.event(event);
                }
                Some(Ok(Item::Unknown(_))) => {}
                Some(Err(error)) => {
                    self.stream = None;
                    let error = self.failures.model_error(&error, self.peek.has_begun());
                    self.told.push_back(Err(error));
                }
                None => self.end().await,
            }
        }
        self.told.front()
    }

    /// Tells who answers, as soon as that is known.
    fn introduce(&mut self, known: Option<(Option<String>, Option<String>)>) {
        if self.introduced {
            return;
        }
        let known = known.or_else(|| self.peek.response().map(|(id, model)| (Some(id), model)));
        if let Some((id, model_id)) = known.filter(|(id, model)| id.is_some() || model.is_some()) {
            self.introduced = true;
            self.told.push_back(Ok(ModelEvent::ResponseMetadata { id, model_id }));
        }
    }

    async fn end(&mut self) {
        let Some(stream) = self.stream.take() else { return };
        // rig reports an answer without its end as an error; a silent end would come out here, as one too.
        let last = match stream.finish().await {
            Ok(response) => {
                let origin = &response.origin;
                self.introduce(Some((origin.response_id.clone(), origin.response_model.clone())));
                Ok(finish::finish(self.kind, &self.keeper, &response, self.called))
            }
            Err(error) => Err(self.failures.model_error(&error, true)),
        };
        self.told.push_back(last);
    }

    fn tell(&mut self, event: ModelEvent) {
        self.told.push_back(Ok(event));
    }

    fn event(&mut self, event: StreamEvent) {
        let part = event.part().index();
        let id = part.to_string();
        match event {
            StreamEvent::Start { kind: PartKind::Text, .. } => self.tell(ModelEvent::TextStart { id }),
            StreamEvent::Start { kind: PartKind::Reasoning, .. } => {
                self.tell(ModelEvent::ReasoningStart { id });
            }
            StreamEvent::Start { kind: PartKind::ToolCall, name, .. } => {
                let id = self.ids.next();
                self.calls.insert(part, (id.clone(), String::new()));
                let tool_name = name.map(String::from).unwrap_or_default();
                self.tell(ModelEvent::ToolInputStart { id, tool_name });
            }
            StreamEvent::Start { kind: PartKind::Image | PartKind::Opaque, .. } => {}
            StreamEvent::Text { text: delta, .. } => self.tell(ModelEvent::TextDelta { id, delta }),
            StreamEvent::Reasoning { text: delta, .. } => self.tell(ModelEvent::ReasoningDelta { id, delta }),
            StreamEvent::Arguments { json: delta, .. } => {
                if let Some((id, input)) = self.calls.get_mut(&part) {
                    input.push_str(&delta);
                    let id = id.clone();
                    self.tell(ModelEvent::ToolInputDelta { id, delta });
                }
            }
            StreamEvent::End { content, .. } => self.part(part, id, &content),
        }
    }

    /// A part is complete.
    fn part(&mut self, part: usize, id: String, content: &AssistantContent) {
        match content {
            AssistantContent::Text(text) => {
                let provider_metadata = self.keeper.pack(content, None);
                self.tell(ModelEvent::TextEnd { id, provider_metadata });
                self.cite(text);
            }
            AssistantContent::Reasoning(_) => {
                let provider_metadata = self.keeper.pack(content, None);
                self.tell(ModelEvent::ReasoningEnd { id, provider_metadata });
            }
            AssistantContent::ToolCall(call) => {
                let Some((id, input)) = self.calls.remove(&part) else { return };
                self.called = true;
                let provider_metadata = self.keeper.pack(content, Some(&id));
                let tool_name = String::from(call.function.name.clone());
                self.tell(ModelEvent::ToolInputEnd { id: id.clone() });
                self.tell(ModelEvent::ToolCall { id, tool_name, input, provider_metadata });
            }
            AssistantContent::Image(image) => self.image(image),
            // A step of a hosted tool, which the provider wants back in its place: an empty reasoning part carries it.
            AssistantContent::Opaque(opaque) if opaque.replay => {
                let provider_metadata = self.keeper.pack(content, None);
                self.tell(ModelEvent::ReasoningStart { id: id.clone() });
                self.tell(ModelEvent::ReasoningEnd { id, provider_metadata });
            }
            _ => {}
        }
    }

    fn cite(&mut self, text: &Text) {
        for source in text.citations().iter().flat_map(|citation| &citation.sources) {
            let SourceLocation::Url { url } = &source.location else { continue };
            if self.sources.insert(url.clone()) {
                let id = format!("source-{}", self.sources.len());
                self.told.push_back(Ok(ModelEvent::Source {
                    id,
                    url: url.clone(),
                    title: source.title.clone(),
                }));
            }
        }
    }

    fn image(&mut self, image: &Image) {
        let media_type = image.media_type.as_ref().map_or("image/png", MimeType::to_mime_type).to_owned();
        let url = match &image.data {
            DocumentSourceKind::Base64(data) => format!("data:{media_type};base64,{data}"),
            DocumentSourceKind::Url(url) => url.clone(),
            _ => return,
        };
        self.tell(ModelEvent::File { media_type, url });
    }
}
