import { z } from "zod";

const tokens = z.int().positive();
const price = z.number().nonnegative();
const headers = z.record(z.string(), z.string());

const model = z.object({
  id: z.string().min(1),
  name: z.string().min(1).optional(),
  reasoning: z.boolean().optional(),
  input: z.array(z.enum(["text", "image"])).optional(),
  cost: z
    .object({ input: price, output: price, cacheRead: price.optional(), cacheWrite: price.optional() })
    .optional(),
  // Other agents write 0 for what they do not know.
  contextWindow: z.union([z.literal(0), tokens]).optional(),
  maxTokens: z.union([z.literal(0), tokens]).optional(),
  api: z.string().optional(),
  baseUrl: z.string().optional(),
  headers: headers.optional(),
});

/** What `registerProvider` takes. Keys that another agent knows beside these are left alone. */
export const providerSchema = z.object({
  name: z.string().optional(),
  baseUrl: z.string().optional(),
  apiKey: z.string().min(1).optional(),
  api: z.string().optional(),
  headers: headers.optional(),
  models: z.array(model).optional(),
  stream: z
    .custom<(...args: never) => unknown>((value) => typeof value === "function", "a function")
    .optional(),
});

export type ProviderModelInput = z.infer<typeof model>;
