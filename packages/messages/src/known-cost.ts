import { contextTokens, type Usage } from "./usage.ts";

/** What several requests cost together, as far as that is known. */
export interface KnownCost {
  /** US dollars of the requests whose cost is known. */
  usd: number;
  /**
   * `known`: of all. `atLeast`: some used tokens at a price that nobody told. `unknown`: all that used tokens did.
   */
  certainty: "known" | "atLeast" | "unknown";
}

/**
 * Adds up what requests cost. A request's cost is known when it has one, when it used nothing, and when its model
 * is known to be free; tokens without a cost have an unknown one.
 */
export class CostSum {
  #usd = 0;
  /** The models of requests that used tokens and tell no cost. */
  readonly #unpriced = new Set<string | undefined>();

  /** @param model `provider/model`, where it is known. */
  add(usage: Usage | undefined, model?: string): void {
    if (usage === undefined) return;
    const usd = usage.cost?.total;
    if (typeof usd === "number" && Number.isFinite(usd) && usd > 0) this.#usd += usd;
    else if (contextTokens(usage) > 0) this.#unpriced.add(model);
  }

  /** Adds what another sum has. */
  addSum(sum: CostSum): void {
    this.#usd += sum.#usd;
    for (const model of sum.#unpriced) this.#unpriced.add(model);
  }

  /** @param isFree tells of `provider/model` whether its price is known to be 0. Default: of none. */
  cost(isFree: (model: string) => boolean = () => false): KnownCost {
    const unknown = [...this.#unpriced].filter((model) => model === undefined || !isFree(model));
    if (unknown.length === 0) return { usd: this.#usd, certainty: "known" };
    return { usd: this.#usd, certainty: this.#usd > 0 ? "atLeast" : "unknown" };
  }
}

/** The cost as a number; null where not all of it is known. */
export function knownUsd({ usd, certainty }: KnownCost): number | null {
  return certainty === "known" ? usd : null;
}

/** The cost in words: `$1.20`, `at least $1.20` or `unknown`. */
export function costText({ usd, certainty }: KnownCost): string {
  if (certainty === "unknown") return "unknown";
  return certainty === "known" ? usdText(usd) : `at least ${usdText(usd)}`;
}

/** US dollars: to the cent from ten cents on, finer below; `?` for what is no number. */
export function usdText(usd: number): string {
  if (!Number.isFinite(usd)) return "?";
  if (usd === 0) return "$0";
  return usd < 0.1 ? `$${usd.toFixed(4)}` : `$${usd.toFixed(2).replace(/\B(?=(\d{3})+\.)/g, ",")}`;
}
