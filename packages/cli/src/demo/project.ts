import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Writes the small shop that the demonstration works on: real files, real tests, one of them red. */
export function writeProject(folder: string): void {
  for (const [path, text] of Object.entries(files())) {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
}

function files(): Record<string, string> {
  return {
    "package.json": `${JSON.stringify({ name: "corner-shop", private: true, type: "module", scripts: { test: "node --test" } }, null, 2)}\n`,
    "AGENTS.md": "# Corner shop\n\nAmounts are whole cents, never fractions. Tests run with `node --test`.\n",
    "src/price.mjs": price,
    "src/codes.mjs": codes,
    "test/price.test.mjs": priceTest,
    "docs/pricing.md": pricingGuide(),
    "logs/build.log": buildLog(),
    ...Object.fromEntries(weekdays.map((day, index) => [`logs/${day}.log`, dayLog(day, index)])),
  };
}

const price = `/** Total of a cart in cents: items, minus a discount in percent. */
export function total(items, discountPercent = 0) {
  const sum = items.reduce((cents, item) => cents + item.cents * item.count, 0);
  return sum - sum * discountPercent / 100;
}

export function formatted(cents) {
  return \`\${(cents / 100).toFixed(2)} EUR\`;
}
`;

const codes = `/** Percent off by code. */
const discounts = { SPRING: 10, WELCOME: 15, FRIEND5: 5 };

export function discountOf(code) {
  return discounts[code];
}
`;

const priceTest = `import assert from "node:assert/strict";
import { test } from "node:test";
import { discountOf } from "../src/codes.mjs";
import { formatted, total } from "../src/price.mjs";

test("a cart without a discount", () => {
  assert.equal(total([{ cents: 250, count: 2 }]), 500);
});

test("a discount leaves whole cents", () => {
  assert.equal(total([{ cents: 333, count: 1 }], 10), 300);
});

test("a known code has a discount", () => {
  assert.equal(discountOf("SPRING"), 10);
});

test("amounts are shown with two decimals", () => {
  assert.equal(formatted(1999), "19.99 EUR");
});
`;

const weekdays = ["monday", "tuesday", "wednesday", "thursday", "friday"];
const tried = ["SPRING", "spring", "WELCOME", "FRIEND5", "friend5 ", "SUMMER", "Welcome"];

function pricingGuide(): string {
  const sections = Array.from({ length: 172 }, (_, at) => {
    const cents = 199 + at * 37;
    return `## ${at + 1}. Case ${at + 1}\n\nA cart of ${at + 1} items at ${cents} cents each comes to ${(at + 1) * cents} cents. With ${5 + (at % 4) * 5} percent off it is rounded half up to whole cents before the tax of ${at % 2 === 0 ? 19 : 7} percent is shown, and the receipt names both amounts.\n`;
  });
  return `# Pricing\n\nAll amounts are whole cents.\n\n${sections.join("\n")}`;
}

function buildLog(): string {
  const lines = Array.from({ length: 215 }, (_, at) => {
    const step = ["resolve", "compile", "bundle", "check"][at % 4];
    return `12:${String(Math.floor(at / 6) % 60).padStart(2, "0")}:${String((at * 10) % 60).padStart(2, "0")} ${step} module ${at + 1} of 215: cache ${at % 7 === 0 ? "miss" : "hit"}, ${3 + (at % 11)} ms, ${1200 + at * 13} bytes`;
  });
  return `${lines.join("\n")}\n12:41:10 test price: 1 failed, expected 300, received 299.7\n`;
}

function dayLog(day: string, index: number): string {
  const lines = Array.from({ length: 120 }, (_, at) => {
    const code = tried[(at * 3 + index) % tried.length];
    const isKnown = code === "SPRING" || code === "WELCOME" || code === "FRIEND5";
    return `${day} 0${8 + (at % 2)}:${String((at * 7) % 60).padStart(2, "0")} cart=${1000 + index * 100 + at} code="${code}" ${isKnown ? "accepted" : "refused: unknown code"} total=${900 + at * 23}`;
  });
  return `${lines.join("\n")}\n`;
}
