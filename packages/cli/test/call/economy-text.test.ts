import { type CompactionSettingsInput, compactionSettings, type ModelSizes } from "@bonsai-agent/compaction";
import type { Session } from "@bonsai-agent/session";
import { history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { economyText } from "../../src/views/economy-text.ts";

const prices = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };
const priced = { contextWindow: 200_000, usdPerMillionTokens: prices };

/** So many questions, each of 1,000 tokens with its answer. */
function asked(times: number): Session {
  const turns = Array.from({ length: times }, (_, at) => `U:500 A:500@${5_000 + (at + 1) * 1_000}`);
  return history(turns.join(" | ")).session;
}

function textOf(
  session: Session,
  economy: CompactionSettingsInput["economy"],
  model: ModelSizes = priced,
  restMs = 0,
): string | undefined {
  const settings = compactionSettings({ economy }, { estimator: "chars4" });
  const nowMs = session.projection().items.at(-1)!.message.timestamp! + restMs;
  return economyText({ session, settings, model, nowMs });
}

test("shows size, window and the saving of a day like the latest", () => {
  expect(textOf(asked(160), "auto")).toMatch(
    /^compacts at \d\dk of 200k: about \$\d\.\d\d a day less \(160 requests\)$/,
  );
});

test("shows the effect of auto if the economy is off", () => {
  expect(textOf(asked(160), "off")).toMatch(/^would compact at \d\dk of 200k: about \$/);
});

test("a size that costs more says so", () => {
  expect(textOf(asked(160), 33_000)).toContain("33k of 200k");
  const dear = { ...priced, usdPerMillionTokens: { ...prices, cacheRead: 0.001, output: 200 } };
  expect(textOf(asked(160), 45_000, dear)).toMatch(/: about \$\d+\.\d\d a day more \(160 requests\)$/);
});

test("a day that does not come that far saves nothing", () => {
  expect(textOf(asked(20), "auto")).toMatch(/: a day of 20 requests does not reach this size$/);
});

test("once the cache has expired, says where compaction begins now", () => {
  expect(textOf(asked(40), "auto", priced, 6 * 60_000)).toMatch(
    /; now at \d\dk, because the provider's cache has expired$/,
  );
});

test("the threshold is used if no size is known to be cheaper", () => {
  const unknown = { contextWindow: 200_000 };
  expect(textOf(asked(40), "auto", unknown)).toBe(
    "compacts at the threshold, 184k of 200k: the model's price is unknown",
  );
  const free = { ...unknown, usdPerMillionTokens: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } };
  expect(textOf(asked(40), "auto", free)).toContain("184k of 200k: the model is free");
  expect(textOf(asked(10), "auto", { ...priced, contextWindow: 30_000 })).toContain(
    "at the threshold, 23k of 30k: no smaller size is cheaper",
  );
  expect(textOf(asked(10), "auto", {})).toBeUndefined();
});
