import type { Random } from "../random.ts";

const FIRST = [
  "ledger",
  "parcel",
  "invoice",
  "harbor",
  "signal",
  "cargo",
  "ticket",
  "payout",
  "tariff",
  "garden",
  "copper",
  "meadow",
  "lantern",
  "quartz",
  "saddle",
  "velvet",
];
const SECOND = [
  "sync",
  "relay",
  "index",
  "bridge",
  "vault",
  "router",
  "mapper",
  "loader",
  "guard",
  "planner",
  "queue",
  "store",
  "import",
  "audit",
  "quota",
  "merge",
];
const ENDINGS = ["js", "kit", "lib", "db", "io", "csv", "log", "ui"];

/** Fills `{slot}`s with made-up names and values, each drawn once, so that what is found was not found by chance. */
export class Slots {
  readonly #random: Random;
  readonly #used = new Set<string>();

  constructor(random: Random) {
    this.#random = random;
  }

  /** One value for each slot name; the same for both parts of a change. */
  draw(): Record<string, string> {
    const module = this.#fresh(() => `${this.#random.pick(FIRST)}-${this.#random.pick(SECOND)}`);
    return {
      mod: module,
      file: this.file(),
      table: this.#fresh(
        () => `${this.#random.pick(FIRST)}_${this.#random.pick(SECOND)}_${this.#random.int(90) + 10}`,
      ),
      name: this.className(),
      name2: this.className(),
      lib: this.library(),
      lib2: this.library(),
      port: this.#fresh(() => String(3_001 + this.#random.int(5_900))),
      port2: this.#fresh(() => String(3_001 + this.#random.int(5_900))),
      num: this.#fresh(() => String(101 + this.#random.int(800))),
      num2: this.#fresh(() => String(101 + this.#random.int(800))),
      host: this.#fresh(
        () =>
          `${this.#random.pick(FIRST)}-${this.#random.int(90) + 1}.internal:${5_000 + this.#random.int(900)}`,
      ),
      ticket: this.#fresh(() => `OPS-${1_000 + this.#random.int(8_999)}`),
    };
  }

  file(): string {
    return this.#fresh(
      () => `src/${this.#random.pick(FIRST)}/${this.#random.pick(SECOND)}-${this.#random.int(90) + 10}.ts`,
    );
  }

  library(): string {
    return this.#fresh(() => `${this.#random.pick(FIRST)}${this.#random.pick(ENDINGS)}`);
  }

  className(): string {
    const capital = (word: string) => word[0]!.toUpperCase() + word.slice(1);
    return this.#fresh(() => `${capital(this.#random.pick(FIRST))}${capital(this.#random.pick(SECOND))}`);
  }

  /** When all are used up, one comes again: then it is told apart by its sentence. */
  #fresh(make: () => string): string {
    for (let attempt = 0; attempt < 60; attempt++) {
      const value = make();
      if (this.#used.has(value)) continue;
      this.#used.add(value);
      return value;
    }
    return make();
  }
}

export function filled(template: string, values: Record<string, string>): string {
  return template.replace(/\{(\w+)\}/g, (slot, name: string) => values[name] ?? slot);
}
