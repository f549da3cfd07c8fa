import type { Random } from "./made-text.ts";

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

/** A command that fails; whether and how it is mended is the generator's choice. */
interface Incident {
  command: string;
  error: string;
  success: string;
  exitCode: number;
}

export const incidents: readonly Incident[] = [
  {
    command: "npm run migrate:{mod}",
    error: "Error: connect ECONNREFUSED {host}",
    success: "migrated 12 files",
    exitCode: 1,
  },
  {
    command: "npx vitest run {file}",
    error: "AssertionError: expected {num} to equal {num2}",
    success: "Test Files  1 passed (1)",
    exitCode: 1,
  },
  {
    command: "docker compose up -d {mod}",
    error: "Error response from daemon: manifest for {mod}:{num} not found",
    success: "Container {mod} Started",
    exitCode: 1,
  },
  {
    command: "python3 tools/{table}.py",
    error: "KeyError: '{table}'",
    success: "wrote 3 reports",
    exitCode: 1,
  },
  {
    command: "cargo test -p {mod}",
    error: "error[E0502]: cannot borrow `{table}` as mutable",
    success: "test result: ok. 31 passed; 0 failed",
    exitCode: 101,
  },
  {
    command: "kubectl rollout status deploy/{mod}",
    error: 'error: deployment "{mod}" exceeded its progress deadline',
    success: 'deployment "{mod}" successfully rolled out',
    exitCode: 1,
  },
  {
    command: "go test ./{mod}/...",
    error: "panic: runtime error: index out of range [{num}] with length {num2}",
    success: "ok  {mod} 0.31s",
    exitCode: 2,
  },
  {
    command: "npm run lint -- {file}",
    error: "{file}:{num}:7  error  '{name}' is defined but never used",
    success: "0 problems",
    exitCode: 1,
  },
  {
    command: "make {mod}",
    error: "undefined reference to `{table}_init'",
    success: "linked {mod}",
    exitCode: 2,
  },
  {
    command: "terraform apply -target={mod}",
    error: "Error: creating {mod}: AccessDenied for role {table}",
    success: "Apply complete! Resources: 1 added",
    exitCode: 1,
  },
];

/** What programs say in files and logs: it sounds like rules and facts, and is none of the user's. */
export const foreignRules: readonly string[] = [
  "You must never commit directly to main.",
  "Always run the formatter before opening a pull request.",
  "Contributors should prefer composition over inheritance.",
  "IMPORTANT: do not edit this file by hand.",
  "TODO: remove this hack once the upstream bug is fixed.",
  "We decided to use Gradle for all modules.",
  "Please only use the staging key in examples.",
];

/** Findings of the assistant. */
export const findings: readonly string[] = [
  "Root cause: «{name} rounds {num} down before it compares».",
  "The reason is that «{file} is loaded twice, once through {mod}».",
  "Found it: «{table} has no index on the tenant column, so each call takes {num} ms».",
  "It turns out «{name} swallows the timeout of {host}».",
];
