import type { Random } from "./made-text.ts";

const FIRST = words(
  "ledger parcel invoice harbor signal cargo ticket payout tariff garden copper meadow lantern quartz saddle velvet",
);
const SECOND = words(
  "sync relay index bridge vault router mapper loader guard planner queue store import audit quota merge",
);
const ENDINGS = words("js kit lib db io csv log ui");

export type SlotValues = ReturnType<Slots["draw"]>;

/** Fills `{slot}`s with made-up names and values, each drawn once, so that what is found was not found by chance. */
export class Slots {
  readonly #random: Random;
  readonly #used = new Set<string>();

  constructor(random: Random) {
    this.#random = random;
  }

  /** One value for each slot name; the same for both parts of what ends later. */
  draw() {
    const { file, className: name, library: lib } = this;
    return {
      mod: this.#fresh(() => `${this.#first()}-${this.#second()}${this.#number(10, 90)}`),
      file: file.call(this),
      table: this.#fresh(() => `${this.#first()}_${this.#second()}_${this.#number(10, 90)}`),
      name: name.call(this),
      name2: name.call(this),
      lib: lib.call(this),
      lib2: lib.call(this),
      port: this.#fresh(() => this.#number(3_001, 5_900)),
      port2: this.#fresh(() => this.#number(3_001, 5_900)),
      num: this.#number(101, 400),
      num2: this.#number(501, 400),
      host: this.#fresh(() => `${this.#first()}-${this.#number(1, 90)}.internal:${this.#number(5_000, 900)}`),
      ticket: this.#fresh(() => `OPS-${this.#number(1_000, 8_999)}`),
    };
  }

  file(): string {
    return this.#fresh(() => `src/${this.#first()}/${this.#second()}-${this.#number(10, 90)}.ts`);
  }

  className(): string {
    return this.#fresh(() => capital(this.#first()) + capital(this.#second()) + capital(this.#first()));
  }

  library(): string {
    return this.#fresh(() => `${this.#first()}${this.#random.pick(ENDINGS)}${this.#number(2, 90)}`);
  }

  #first(): string {
    return this.#random.pick(FIRST);
  }

  #second(): string {
    return this.#random.pick(SECOND);
  }

  #number(from: number, count: number): string {
    return String(from + this.#random.int(count));
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

export function filled(template: string, values: Readonly<Record<string, string>>): string {
  return template.replace(/\{(\w+)\}/g, (slot, name: string) => values[name] ?? slot);
}

/** Said twice, it would be the same thing: it has words to keep, and no slot. */
export function isPlain(template: unknown): boolean {
  return typeof template === "string" && template.includes("«") && !template.includes("{");
}

export interface Marked {
  text: string;
  /** The words between the marks. */
  key: string;
}

export function marked(template: string, values: Readonly<Record<string, string>>): Marked {
  const text = filled(template, values);
  return { text: text.replace(/[«»]/g, ""), key: /«(.+)»/s.exec(text)?.[1] ?? text };
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

function words(text: string): string[] {
  return text.split(" ");
}
