import { readdirSync, readFileSync } from "node:fs";
import { seededRandom } from "@bonsai-agent/testkit";

export interface SampleText {
  name: string;
  text: string;
  /** Running text of people; else code, logs, data, noise. */
  prose: boolean;
}

const folder = new URL("fixtures/texts/", import.meta.url);

/** Texts that took no part in fitting the estimator: written for this, or made from a seed. */
export function sampleTexts(): SampleText[] {
  const written = readdirSync(folder)
    .sort()
    .map((file) => ({
      name: file.replace(".txt", ""),
      text: readFileSync(new URL(file, folder), "utf8"),
      prose: file.startsWith("prose-"),
    }));
  return [...written, ...noise()];
}

function noise(): SampleText[] {
  const random = seededRandom(1);
  const bytes = (count: number) => Buffer.from(Array.from({ length: count }, () => random.int(256)));
  const lines = (count: number, line: () => string) => Array.from({ length: count }, line).join("\n");
  return Object.entries({
    "noise-base64": bytes(1200).toString("base64"),
    "noise-base64url": lines(20, () => bytes(33).toString("base64url")),
    "noise-hex": bytes(900).toString("hex"),
    "noise-hashes": lines(
      30,
      () => `${bytes(20).toString("hex")}  dist/chunk-${bytes(4).toString("hex")}.js`,
    ),
    "noise-numbers": lines(80, () => (random.next() * 1000).toFixed(random.int(6))),
  }).map(([name, text]) => ({ name, text, prose: false }));
}
