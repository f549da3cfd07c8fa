import { classifyFailure, type RefusedRequest } from "../src/failure/classify.ts";
import type { ModelFailure } from "../src/model-request.ts";
import { ProviderError, type ProviderErrorOptions } from "../src/provider.ts";

export interface Said extends Partial<ProviderErrorOptions> {
  provider?: string;
  asked?: RefusedRequest;
  bodyless429IsOverflow?: boolean;
}

export function classified(message: string, said: Said = {}): ModelFailure {
  const { provider = "any", asked, bodyless429IsOverflow, ...options } = said;
  return classifyFailure({
    error: new ProviderError({ kind: "refused", status: 400, message, ...options }),
    provider,
    modelId: "m",
    ...(asked === undefined ? {} : { request: asked }),
    ...(bodyless429IsOverflow === undefined ? {} : { bodyless429IsOverflow }),
  });
}
