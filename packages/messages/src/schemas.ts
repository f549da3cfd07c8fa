// The zod schemas have an entry of their own: whoever only reads sessions does not pay for loading zod.
export {
  assistantContentSchema,
  imageContentSchema,
  textContentSchema,
  thinkingContentSchema,
  toolCallSchema,
  userContentSchema,
} from "./content-schema.ts";
export { messageSchema } from "./message-schema.ts";
export { modelSchema } from "./model-schema.ts";
export { usageSchema } from "./usage-schema.ts";
