/** A tool that the client runs, as `extractClientToolSchemas` would send it. */
export const COLOUR = {
  name: 'colour',
  description: 'The colour of a thing.',
  parameters: { type: 'object', properties: { of: { type: 'string' } }, required: ['of'] },
}
