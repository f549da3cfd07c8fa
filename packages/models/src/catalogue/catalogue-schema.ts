import { z } from "zod";
import { effortWords, thinkingStyles } from "../model-compat.ts";

const pricePerMillion = z.number().nonnegative();
const tokens = z.int().positive();

const compatSchema = z.strictObject({
  thinking: z.enum([...thinkingStyles["anthropic-messages"], ...thinkingStyles["openai-chat"]]).optional(),
  efforts: z.array(z.enum(effortWords)).min(1).optional(),
  thinkingBack: z.enum(["reasoning_content", "reasoning_details", "none"]).optional(),
  maxTokensField: z.enum(["max_tokens", "max_completion_tokens"]).optional(),
  streamOptions: z.boolean().optional(),
});

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
  compat: compatSchema.optional(),
});

const providerSchema = z.strictObject({
  provider: z.string().regex(/^[^\s/]+$/, "a name without blanks and slashes"),
  api: z.enum(["anthropic-messages", "openai-responses", "openai-chat", "scripted"]).optional(),
  baseUrl: z.string().min(1).optional(),
  apiKeyEnv: z
    .string()
    .regex(/^[A-Za-z_]\w*$/, "the name of a variable, not the key itself")
    .optional(),
  headers: z.record(z.string(), z.string()).optional(),
  compat: compatSchema.optional(),
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
