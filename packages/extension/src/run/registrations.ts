/** Something that an extension registered under a name. */
export interface Registration<Value> {
  readonly name: string;
  readonly value: Value;
  /** The extension's name in notices. */
  readonly source: string;
  /** The extension's absolute path. */
  readonly path: string;
}

export interface RegistrationsOptions<Value> {
  /** Told when two extensions have one name. */
  onConflict?: (earlier: Registration<Value>, later: Registration<Value>) => void;
  /** Told after each change. */
  onChange?: () => void;
}

/**
 * What extensions registered under names: the latest of a name stands.
 * Invariant: after any undoing, in whatever order, all is as if only what is left had ever been registered.
 */
export class Registrations<Value> {
  readonly #options: RegistrationsOptions<Value>;
  #entries: readonly Registration<Value>[] = [];

  constructor(options: RegistrationsOptions<Value> = {}) {
    this.#options = options;
  }

  /** The function returned takes this registration out. */
  add(registration: Registration<Value>): () => void {
    const { onConflict, onChange } = this.#options;
    const earlier = this.get(registration.name);
    const entry = { ...registration };
    this.#entries = [...this.#entries, entry];
    onChange?.();
    if (earlier !== undefined && earlier.source !== entry.source) onConflict?.(earlier, entry);
    return () => {
      if (!this.#entries.includes(entry)) return;
      this.#entries = this.#entries.filter((other) => other !== entry);
      onChange?.();
    };
  }

  /** The registration that stands. */
  get(name: string): Registration<Value> | undefined {
    return this.#entries.findLast((entry) => entry.name === name);
  }

  /** Those that stand, each name at the place where it first came. */
  standing(): readonly Registration<Value>[] {
    return [...new Map(this.#entries.map((entry) => [entry.name, entry])).values()];
  }
}
