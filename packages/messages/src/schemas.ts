// The zod schemas have an entry of their own: whoever only reads sessions does not pay for loading zod.
export {
  assistantContentSchema,
  imageContentSchema,
  messageSchema,
  modelSchema,
  textContentSchema,
  thinkingContentSchema,
  toolCallSchema,
  usageSchema,
  userContentSchema,
} from "./message-schema.ts";
