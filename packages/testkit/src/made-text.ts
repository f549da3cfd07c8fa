/** A stream of pseudo-random choices; the same seed gives the same stream on every machine. */
export interface Random {
  /** In [0, 1). */
  next(): number;
  /** A whole number in [0, below). */
  int(below: number): number;
  pick<T>(items: readonly T[]): T;
  chance(probability: number): boolean;
}

/** Mulberry32: small, quick, and good enough for made-up text. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
  const int = (below: number): number => Math.floor(next() * below);
  return { next, int, pick: (items) => items[int(items.length)]!, chance: (p) => next() < p };
}

const nouns = [
  "session",
  "index",
  "cursor",
  "parser",
  "queue",
  "cache",
  "router",
  "schema",
  "token",
  "ledger",
];
const verbs = ["load", "merge", "split", "render", "flush", "resolve", "encode", "retry", "trim", "verify"];
const folders = ["src", "src/core", "packages/engine/src", "packages/web/src/views", "test", "scripts"];
const places = ["Zürich", "São Paulo", "東京", "Kraków", "Αθήνα"];

/** `readIndex` and the like. */
function madeName(random: Random): string {
  const noun = random.pick(nouns);
  return random.pick(verbs) + noun.charAt(0).toUpperCase() + noun.slice(1);
}

/** A relative path of a source file. */
export function madePath(random: Random): string {
  return `${random.pick(folders)}/${random.pick(nouns)}-${random.pick(verbs)}.${random.pick(["ts", "ts", "tsx", "md", "json"])}`;
}

/** One line of source code. */
export function codeLine(random: Random): string {
  const name = madeName(random);
  switch (random.int(6)) {
    case 0:
      return `export function ${name}(${random.pick(nouns)}: string, limitBytes = ${random.int(65536)}): number {`;
    case 1:
      return `  const ${random.pick(nouns)} = await ${name}({ path: "${madePath(random)}", retries: ${random.int(9)} });`;
    case 2:
      return `\tif (${random.pick(nouns)}.length > ${random.int(999)}) throw new RangeError(\`${name}: too long\`);`;
    case 3:
      return `    // ${name} runs before ${madeName(random)}, or the ${random.pick(nouns)} would be read twice.`;
    case 4:
      return "  }";
    default:
      return `import { ${name}, type ${name}Options } from "../${random.pick(nouns)}/${random.pick(verbs)}.ts";`;
  }
}

/** One line of a command's output. */
export function logLine(random: Random): string {
  const ms = random.int(2000);
  switch (random.int(5)) {
    case 0:
      return ` \u001b[32m✓\u001b[39m ${madePath(random)} > ${madeName(random)} (${ms} ms)`;
    case 1:
      return `${madePath(random)}:${random.int(400)}:${random.int(80)}: error TS2345: Argument of type "${random.pick(nouns)}" is not assignable.`;
    case 2:
      return `    at ${madeName(random)} (/home/dev/shop/${madePath(random)}:${random.int(400)}:${random.int(80)})`;
    case 3:
      return `2026-01-05T09:${10 + random.int(50)}:00Z INFO ${random.pick(nouns)} host=db-${random.int(20)}.${random.pick(places)} took=${ms}ms`;
    default:
      return `-rw-r--r-- 1 dev dev ${random.int(90000)} Jan  5 09:${10 + random.int(50)} ${madePath(random)}`;
  }
}

/** One sentence of conversation. */
export function proseLine(random: Random): string {
  const [a, b] = [madeName(random), random.pick(nouns)];
  switch (random.int(5)) {
    case 0:
      return `Let me look at how ${a} treats an empty ${b} before changing ${madePath(random)}.`;
    case 1:
      return `The ${b} was read twice, so "${a}" reported ${random.int(500)} instead of ${random.int(500)}.`;
    case 2:
      return `Please keep ${a} free of I/O; the ${b} belongs at the edge.`;
    case 3:
      return `Customers in ${random.pick(places)} see the wrong ${b} — it must fail loudly, not silently.`;
    default:
      return `I renamed ${a}, ran the tests again, and all ${random.int(300)} of them pass now.`;
  }
}
