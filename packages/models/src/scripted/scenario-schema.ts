import { z } from "zod";

const pattern = z.string().refine(isPattern, "a regular expression");
const tokens = z.int().nonnegative();
const price = z.number().nonnegative();

const call = z.strictObject({
  name: z.string().min(1),
  arguments: z.record(z.string(), z.unknown()).optional(),
  argumentsText: z.string().optional(),
});

const condition = z.strictObject({
  lastTool: z.string().min(1).optional(),
  lastToolFailed: z.boolean().optional(),
  lastTextMatches: pattern.optional(),
  lastUserMatches: pattern.optional(),
  anyTextMatches: pattern.optional(),
});

const answer = z.strictObject({
  when: condition.optional(),
  times: z.int().positive().optional(),
  thinking: z.string().optional(),
  text: z.string().optional(),
  calls: z.array(call).optional(),
  stopReason: z.enum(["stop", "length", "toolUse"]).optional(),
  error: z
    .strictObject({
      status: z.int().min(100).max(599).optional(),
      code: z.string().optional(),
      message: z.string(),
      retryAfterMs: z.number().nonnegative().optional(),
    })
    .optional(),
  cut: z.boolean().optional(),
  usage: z
    .strictObject({
      input: tokens.optional(),
      output: tokens.optional(),
      cacheRead: tokens.optional(),
      cacheWrite: tokens.optional(),
    })
    .optional(),
  delayMs: z.number().nonnegative().optional(),
  chunkChars: z.int().positive().optional(),
});

/** What a scenario file may hold. */
export const scenarioSchema = z.strictObject({
  $schema: z.string().optional(),
  note: z.string().optional(),
  contextWindow: z.int().positive().optional(),
  maxOutputTokens: z.int().positive().optional(),
  usdPerMillionTokens: z
    .strictObject({ input: price, output: price, cacheRead: price, cacheWrite: price })
    .optional(),
  turn: z.array(answer),
  summary: z.array(answer).optional(),
  title: z.array(answer).optional(),
  extension: z.array(answer).optional(),
  atEnd: z.enum(["error", "repeat"]).optional(),
});

function isPattern(text: string): boolean {
  try {
    new RegExp(text, "m");
    return true;
  } catch {
    return false;
  }
}
