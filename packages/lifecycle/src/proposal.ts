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
  readonly #keySources = new Map<string, string>();
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
      if (this.#isKeyed(field)) conflicts.push(...this.#keyConflicts(field, value, source));
      this.#result = Object.freeze({ ...this.#result, [field]: this.#combined(field, value) });
      this.#sources.set(field, source);
    }
    return conflicts;
  }

  #isKeyed(field: string): boolean {
    return this.#rule.keyed?.includes(field) ?? false;
  }

  #keyConflicts(field: string, value: unknown, source: string): FieldConflict[] {
    return Object.keys(value as object).flatMap((key) => {
      const name = `${field}.${key}`;
      const earlier = this.#keySources.get(name);
      this.#keySources.set(name, source);
      return earlier === undefined ? [] : [{ field: name, sources: [earlier, source] }];
    });
  }

  #combined(field: string, value: unknown): unknown {
    if (this.#isKeyed(field)) return { ...(this.#result?.[field] as object), ...(value as object) };
    const merge = this.#sources.has(field) ? this.#rule.merge?.[field] : undefined;
    return merge === undefined ? value : merge(this.#result?.[field] as object, value as object);
  }
}
