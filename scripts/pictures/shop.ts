import type { Scenario } from "@bonsai-agent/models";

export const shopFiles = {
  "src/total.ts":
    "export function total(cents: number, rate: number): number {\n  return Math.floor(cents * rate) / 100;\n}\n",
  "src/total.test.ts":
    'import { total } from "./total.ts";\n\nif (total(1000.5, 1) !== 10.01) throw new Error("a cent is missing");\n',
};

const reading = {
  text: "I look at how totals are rounded first.",
  calls: [{ name: "read", arguments: { path: "src/total.ts" } }],
};

const change = {
  oldText: "  return Math.floor(cents * rate) / 100;",
  newText: "  // Half a cent is the customer's.\n  return Math.round(cents * rate) / 100;",
};

const table =
  "| price | before | after |\n| --- | ---: | ---: |\n| 10.005 | 10.00 | 10.01 |\n| 0.015 | 0.01 | 0.02 |";

/** A bug is found and mended. */
export const shopScenario: Scenario = {
  contextWindow: 60_000,
  turn: [
    reading,
    {
      text: "`Math.floor` drops the last cent. I round half up instead.",
      calls: [{ name: "edit", arguments: { path: "src/total.ts", edits: [change] } }],
    },
    { calls: [{ name: "bash", arguments: { command: "node src/total.test.ts && echo all green" } }] },
    { text: `Mended: **totals are rounded half up**, and the test is green.\n\n${table}` },
  ],
  title: [{ text: "Totals a cent short" }],
};

const seen = [
  "`total` takes cents and gives back the amount in euros:\n",
  "```ts\nreturn Math.floor(cents * rate) / 100;\n```\n",
  "Two things are lost on the way:\n",
  "1. **`Math.floor` drops half a cent**, always to the shop's favour.",
  "2. A discount is a rate, so that `cents * rate` is hardly ever a whole number.\n",
  "The sum of a cart should be kept in cents, and rounded to cents only at the end, where",
].join("\n");

/** An answer that stands still in its middle for a while. */
export const streamingScenario: Scenario = {
  contextWindow: 60_000,
  turn: [reading, { text: `${seen} it is shown.`, delayMs: 4_000, chunkChars: seen.length }],
  title: [{ text: "Totals a cent short" }],
  atEnd: "repeat",
};

const days = ["monday", "tuesday", "wednesday"];
const codes = ["SPRING", "WELCOME10", "VIP"];

export const longFiles: Readonly<Record<string, string>> = Object.fromEntries(
  days.map((day, at) => [`logs/${day}.log`, log(day, at)]),
);

function log(day: string, at: number): string {
  const line = (minute: number) => {
    const time = `${8 + Math.floor(minute / 60)}:${String(minute % 60).padStart(2, "0")}`;
    const code = codes[(minute + at) % codes.length];
    const refused = code === "SPRING" && at > 0;
    return `${day} ${time} cart=${1000 + minute} code=${code} ${refused ? "refused: expired" : "accepted"}`;
  };
  return `${Array.from({ length: 260 }, (_, minute) => line(minute)).join("\n")}\n`;
}

const summary = `## Goal
Find out which discount codes fail in the logs of the week, and why.

## Constraints & Preferences
- Change no code; write the result to FINDINGS.md.

## Progress
### Done
- Read the logs of Monday to Wednesday.

## Key Decisions
- **SPRING**: accepted on Monday, refused as expired from Tuesday on.

## Next Steps
1. Write FINDINGS.md.

## Critical Context
- Codes: SPRING, WELCOME10, VIP.`;

const said = "**SPRING** expired on Monday night; the other codes are accepted.";
const logs: Scenario = {
  maxOutputTokens: 4_000,
  turn: [
    ...days.map((day) => ({
      text: `${day[0]!.toUpperCase()}${day.slice(1)}.`,
      calls: [{ name: "read", arguments: { path: `logs/${day}.log` } }],
    })),
    { text: said },
    {
      text: "Tell customer service: everybody who was refused with **SPRING** since Tuesday saw no reason, and 262 carts were left behind; a code that has expired should say so, and say until when it was good.",
    },
  ],
  title: [{ text: "Refused discount codes" }],
  atEnd: "repeat",
};

/** Logs that are too long for the window, and a summary that takes its time. */
export const compactingScenario: Scenario = {
  ...logs,
  contextWindow: 16_000,
  summary: [{ text: summary, delayMs: 8_000 }],
};

export const compactedScenario: Scenario = { ...logs, contextWindow: 24_000, summary: [{ text: summary }] };
