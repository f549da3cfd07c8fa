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
}

/**
 * What extensions registered under names: the latest of a name stands.
 * Invariant: after any undoing, in whatever order, all is as if only what is left had ever been registered.
 */
export class Registrations<Value> {
  readonly #options: RegistrationsOptions<Value>;
  /** In the order in which they came. */
  readonly #all = new Set<Registration<Value>>();
  readonly #byName = new Map<string, readonly Registration<Value>[]>();

  constructor(options: RegistrationsOptions<Value> = {}) {
    this.#options = options;
  }

  /** The function returned takes this registration out. */
  add(registration: Registration<Value>): () => void {
    const { name, source } = registration;
    const earlier = this.get(name);
    this.#all.add(registration);
    this.#byName.set(name, [...this.#of(name), registration]);
    if (earlier !== undefined && earlier.source !== source) this.#options.onConflict?.(earlier, registration);
    return () => {
      if (!this.#all.delete(registration)) return;
      const left = this.#of(name).filter((other) => other !== registration);
      if (left.length > 0) this.#byName.set(name, left);
      else this.#byName.delete(name);
    };
  }

  /** The registration that stands. */
  get(name: string): Registration<Value> | undefined {
    return this.#of(name).at(-1);
  }

  /** Each that was not taken out, also those that another covers. */
  get all(): Iterable<Registration<Value>> {
    return this.#all;
  }

  /** Those that stand, each name at the place where it first came. */
  standing(): readonly Registration<Value>[] {
    return [...new Map([...this.#all].map((entry) => [entry.name, entry])).values()];
  }

  #of(name: string): readonly Registration<Value>[] {
    return this.#byName.get(name) ?? [];
  }
}
