import { z } from "zod";

export const modelSchema = z.looseObject({
  provider: z.string(),
  id: z.string(),
  name: z.string().optional(),
  contextWindow: z.number().optional(),
  maxOutputTokens: z.number().optional(),
  usdPerMillionTokens: z
    .looseObject({ input: z.number(), output: z.number(), cacheRead: z.number(), cacheWrite: z.number() })
    .optional(),
});
