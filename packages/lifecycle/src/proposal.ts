import type { ErasedDecideRule } from "./rule.ts";

/** A field that a second source has set. */
export interface FieldConflict {
  field: string;
  sources: [earlier: string, later: string];
}

/** What the handlers of one decide event have proposed so far. */
export class Proposal {
  readonly #rule: ErasedDecideRule;
  readonly #sources = new Map<string, string>();
  #result: Readonly<Record<string, unknown>> | undefined;

  constructor(rule: ErasedDecideRule) {
    this.#rule = rule;
  }

  /** Undefined while everybody has abstained. */
  get result(): Readonly<Record<string, unknown>> | undefined {
    return this.#result;
  }

  /** Who last set each field. */
  get sources(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.#sources);
  }

  /** Invariant: a field once set is never erased; an undefined value abstains. */
  add(proposed: Record<string, unknown>, source: string): FieldConflict[] {
    const conflicts: FieldConflict[] = [];
    for (const [field, value] of Object.entries(proposed)) {
      if (value === undefined) continue;
      const earlier = this.#sources.get(field);
      if (earlier !== undefined && this.#rule.exclusive.includes(field)) {
        conflicts.push({ field, sources: [earlier, source] });
      }
      this.#result = Object.freeze({ ...this.#result, [field]: this.#combined(field, value) });
      this.#sources.set(field, source);
    }
    return conflicts;
  }

  #combined(field: string, value: unknown): unknown {
    const merge = this.#sources.has(field) ? this.#rule.merge?.[field] : undefined;
    return merge === undefined ? value : merge(this.#result?.[field] as object, value as object);
  }
}
