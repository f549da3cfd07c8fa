import { z } from "zod";

const pricePerMillion = z.number().nonnegative();
const tokens = z.int().positive();

const modelSchema = z.strictObject({
  id: z.string().min(1),
  name: z.string().min(1).optional(),
  contextWindow: tokens.optional(),
  maxOutputTokens: tokens.optional(),
  input: z.array(z.enum(["text", "image"])).optional(),
  reasoning: z.boolean().optional(),
  usdPerMillionTokens: z
    .strictObject({
      input: pricePerMillion,
      output: pricePerMillion,
      cacheRead: pricePerMillion.optional(),
      cacheWrite: pricePerMillion.optional(),
    })
    .optional(),
});

const providerSchema = z.strictObject({
  provider: z.string().regex(/^[^\s/]+$/, "a name without blanks and slashes"),
  api: z.enum(["anthropic-messages", "openai-responses", "openai-chat", "scripted"]).optional(),
  baseUrl: z.string().min(1).optional(),
  apiKeyEnv: z.string().min(1).optional(),
  headers: z.record(z.string(), z.string()).optional(),
  models: z.array(modelSchema).optional(),
});

/** What `models.json` may hold. */
export const catalogueSchema = z.strictObject({
  $schema: z.string().optional(),
  asOf: z.string().optional(),
  note: z.string().optional(),
  providers: z.array(providerSchema),
});

/** A provider of `models.json`, with its models. */
export type ProviderOverride = z.infer<typeof providerSchema>;

/** A model of `models.json`; what it leaves out stays as it is built in. */
export type ModelOverride = z.infer<typeof modelSchema>;
