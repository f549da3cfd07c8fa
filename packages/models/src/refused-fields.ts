import { jsonText } from "@bonsai-agent/messages";
import type { CatalogueModel } from "./catalogue-model.ts";
import type { ModelCompat } from "./model-compat.ts";
import { ProviderError } from "./provider.ts";

/** Which fields of a Chat Completions request servers refused, for one client: each costs one refusal. */
export class RefusedFields {
  readonly #learned = new Map<string, ModelCompat>();

  /** The model with what its server has taught. */
  taught(model: CatalogueModel): CatalogueModel {
    const learned = this.#learned.get(keyOf(model));
    return learned === undefined ? model : { ...model, compat: { ...model.compat, ...learned } };
  }

  /** True where the refusal names a field that can be left out, or called otherwise, and was not yet. */
  learn(model: CatalogueModel, error: unknown): boolean {
    if (!(error instanceof ProviderError) || (error.status !== 400 && error.status !== 422)) return false;
    const text = `${error.message} ${jsonText(error.body)}`;
    const known = this.#learned.get(keyOf(model)) ?? {};
    const told: ModelCompat = {
      ...(/stream_options/.test(text) && { streamOptions: false }),
      ...(/(?:unsupported|not supported).{0,80}max_completion_tokens/is.test(text) && {
        maxTokensField: "max_completion_tokens" as const,
      }),
    };
    const all = { ...known, ...told };
    if (Object.keys(all).length === Object.keys(known).length) return false;
    this.#learned.set(keyOf(model), all);
    return true;
  }
}

function keyOf({ baseUrl, id }: CatalogueModel): string {
  return `${baseUrl} ${id}`;
}
