// The zod schemas have a subpath of their own, so that programs that only read sessions do not load zod.
import { z } from "zod";

export const textContentSchema = z.looseObject({
  type: z.literal("text"),
  text: z.string(),
  textSignature: z.string().optional(),
});
const imageContentSchema = z.looseObject({
  type: z.literal("image"),
  data: z.string(),
  mimeType: z.string(),
});
export const thinkingContentSchema = z.looseObject({
  type: z.literal("thinking"),
  thinking: z.string(),
  thinkingSignature: z.string().optional(),
  redacted: z.boolean().optional(),
});
const toolCallSchema = z.looseObject({
  type: z.literal("toolCall"),
  id: z.string(),
  name: z.string(),
  arguments: z.record(z.string(), z.unknown()),
  thoughtSignature: z.string().optional(),
  namespace: z.string().optional(),
});
export const userContentSchema = z.discriminatedUnion("type", [textContentSchema, imageContentSchema]);
const assistantContentSchema = z.discriminatedUnion("type", [
  textContentSchema,
  thinkingContentSchema,
  toolCallSchema,
]);

const usageCostSchema = z.looseObject({
  input: z.number(),
  output: z.number(),
  cacheRead: z.number(),
  cacheWrite: z.number(),
  total: z.number(),
});
export const usageSchema = z.looseObject({
  input: z.number(),
  output: z.number(),
  cacheRead: z.number(),
  cacheWrite: z.number(),
  cacheWrite1h: z.number().optional(),
  reasoning: z.number().optional(),
  totalTokens: z.number().optional(),
  isUncounted: z.literal(true).optional(),
  cost: usageCostSchema,
});

const userContents = z.union([z.string(), z.array(userContentSchema)]);

/** A message of a role with its fields. */
function messageOf<Role extends string, Fields extends z.ZodRawShape>(role: Role, fields: Fields) {
  return z.looseObject({ role: z.literal(role), ...fields, timestamp: z.number() });
}

const userMessageSchema = messageOf("user", { content: userContents, typed: z.string().optional() });
const assistantMessageSchema = messageOf("assistant", {
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
});
const toolResultMessageSchema = messageOf("toolResult", {
  toolCallId: z.string(),
  toolName: z.string(),
  content: z.array(userContentSchema),
  details: z.unknown().optional(),
  usage: usageSchema.optional(),
  isError: z.boolean(),
  durationMs: z.number().optional(),
});
const bashExecutionMessageSchema = messageOf("bashExecution", {
  command: z.string(),
  output: z.string(),
  exitCode: z.number().optional(),
  cancelled: z.boolean(),
  truncated: z.boolean(),
  fullOutputPath: z.string().optional(),
  excludeFromContext: z.boolean().optional(),
});
const customMessageSchema = messageOf("custom", {
  customType: z.string(),
  content: userContents,
  display: z.boolean(),
  details: z.unknown().optional(),
});
const systemMessageSchema = z.looseObject({
  role: z.literal("system"),
  content: z.unknown().optional(),
  timestamp: z.number().optional(),
});

/**
 * A message as a session file stores it (the two summary views are never stored as messages). Unknown fields stay. Strict
 * on the rest: for damaged messages use `messageText`, `contentBlocks` and `callsIn`.
 */
export const messageSchema = z.discriminatedUnion("role", [
  userMessageSchema,
  assistantMessageSchema,
  toolResultMessageSchema,
  bashExecutionMessageSchema,
  customMessageSchema,
  systemMessageSchema,
]);

const tokens = z.number().int().min(0);

/** Values of `compaction` settings. */
export const compactionValues = {
  rule: z.enum(["reserve", "percent", "size", "outputLimit", "reservePlusKeep", "effectiveWindow"]),
  reserveTokens: tokens,
  percent: z.number().min(1).max(100),
  sizeTokens: z.number().int().min(1),
  economy: z.union([z.enum(["off", "auto"]), z.number().int().min(1)]),
  keepRecentTokens: tokens,
};

const { rule, reserveTokens, percent, sizeTokens, economy, keepRecentTokens } = compactionValues;

/** The `compaction` settings that can differ by model. Absent ones are those of every model. */
export const modelCompactionSchema = z.strictObject({
  threshold: z.strictObject({ rule, reserveTokens, percent, sizeTokens }).partial().optional(),
  economy: economy.optional(),
  keepRecentTokens: keepRecentTokens.optional(),
});
