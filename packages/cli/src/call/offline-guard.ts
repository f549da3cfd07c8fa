import { type CatalogueModel, ProviderError } from "@bonsai-agent/models";

/** `--offline`: refuses every fetch of this process, except to the server of the chosen model. */
export class OfflineGuard {
  readonly #original = globalThis.fetch;
  readonly #guarded: typeof fetch;
  #allowed: string | undefined;

  constructor() {
    this.#guarded = async (target, init) => {
      const address = target instanceof Request ? target.url : target;
      const { host = String(address), origin } = URL.parse(String(address)) ?? {};
      if (origin === undefined || origin !== this.#allowed) throw refusal(host);
      return this.#original(target, init);
    };
    globalThis.fetch = this.#guarded;
  }

  choose(model: Pick<CatalogueModel, "baseUrl">): void {
    this.#allowed = URL.parse(model.baseUrl)?.origin;
  }

  allows({ baseUrl }: Pick<CatalogueModel, "baseUrl">): boolean {
    return this.#allowed !== undefined && URL.parse(baseUrl)?.origin === this.#allowed;
  }

  close(): void {
    if (globalThis.fetch === this.#guarded) globalThis.fetch = this.#original;
  }
}

function refusal(host: string): ProviderError {
  return new ProviderError({
    kind: "refused",
    code: "offline",
    message: `--offline allows only the chosen model. Blocked a connection to ${host}.`,
  });
}
