import { z } from "zod";
import { assistantContentSchema, userContentSchema } from "./content-schema.ts";
import { usageSchema } from "./usage-schema.ts";

const userContents = z.union([z.string(), z.array(userContentSchema)]);

export const userMessageSchema = z.looseObject({
  role: z.literal("user"),
  content: userContents,
  timestamp: z.number(),
});
export const assistantMessageSchema = z.looseObject({
  role: z.literal("assistant"),
  content: z.array(assistantContentSchema),
  api: z.string(),
  provider: z.string(),
  model: z.string(),
  usage: usageSchema,
  stopReason: z.string(),
  rawStopReason: z.string().optional(),
  errorMessage: z.string().optional(),
  responseModel: z.string().optional(),
  responseId: z.string().optional(),
  timestamp: z.number(),
});
export const toolResultMessageSchema = z.looseObject({
  role: z.literal("toolResult"),
  toolCallId: z.string(),
  toolName: z.string(),
  content: z.array(userContentSchema),
  details: z.unknown().optional(),
  usage: usageSchema.optional(),
  isError: z.boolean(),
  timestamp: z.number(),
});
export const bashExecutionMessageSchema = z.looseObject({
  role: z.literal("bashExecution"),
  command: z.string(),
  output: z.string(),
  exitCode: z.number().optional(),
  cancelled: z.boolean(),
  truncated: z.boolean(),
  fullOutputPath: z.string().optional(),
  excludeFromContext: z.boolean().optional(),
  timestamp: z.number(),
});
export const customMessageSchema = z.looseObject({
  role: z.literal("custom"),
  customType: z.string(),
  content: userContents,
  display: z.boolean(),
  details: z.unknown().optional(),
  timestamp: z.number(),
});
export const systemMessageSchema = z.looseObject({
  role: z.literal("system"),
  content: z.unknown().optional(),
  timestamp: z.number().optional(),
});

/**
 * A message as a session file stores it (the two summary views are never stored as messages).
 * Unknown fields stay. Strict on the rest: to read what may be damaged, use the readers of `text.ts`.
 */
export const messageSchema = z.discriminatedUnion("role", [
  userMessageSchema,
  assistantMessageSchema,
  toolResultMessageSchema,
  bashExecutionMessageSchema,
  customMessageSchema,
  systemMessageSchema,
]);
