import { readFileSync } from "node:fs";
import {
  calibrate,
  chars4Estimator,
  inputTokens,
  type Message,
  tokenEstimator,
} from "@bonsai-agent/messages";
import { isGoodAnswer } from "@bonsai-agent/messages/host";
import { recordedSession } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { describe, expect, it } from "vitest";
import { sampleTexts } from "./sample-texts.ts";
import { answer, calibratedEstimator, estimateOf, simulatedSession } from "./simulated-session.ts";

/** What the calibration of the first messages says of the request that a later answer reports, over what it reports. */
function predicted(messages: readonly Message[], learnFrom: number, at: number): number {
  const calibration = calibrate({ messages: messages.slice(0, learnFrom), base: tokenEstimator });
  const estimate = estimateOf(messages.slice(0, at), calibratedEstimator(calibration));
  const reporting = messages[at];
  if (!isGoodAnswer(reporting!)) throw new Error(`no good answer at ${at}`);
  return (calibration.overheadTokens + estimate) / inputTokens(reporting.usage);
}

const text = (chars: number) => "x".repeat(chars);

describe("calibrate", () => {
  it("finds ratio and overhead of a provider that counts differently, whatever they are", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 400, max: 40_000 }), { minLength: 20, maxLength: 60 }),
        fc.double({ min: 0.6, max: 2.4, noNaN: true }),
        fc.integer({ min: 0, max: 40_000 }),
        (lengths, ratio, overheadTokens) => {
          const counts = (sample: string) => chars4Estimator.text(sample) * ratio;
          const messages = simulatedSession({ texts: lengths.map(text), counts, overheadTokens });
          const found = calibrate({ messages, base: chars4Estimator });
          expect(found.ratio).toBeCloseTo(ratio, 1);
          expect(Math.abs(found.overheadTokens - overheadTokens)).toBeLessThan(50);
          expect(found.samples).toBe(lengths.length);
        },
      ),
    );
  });

  it("does not take system prompt and tools for text that was estimated too low", () => {
    const texts = Array.from({ length: 10 }, () => text(2000));
    const messages = simulatedSession({ texts, counts: chars4Estimator.text, overheadTokens: 30_000 });
    expect(calibrate({ messages, base: chars4Estimator })).toEqual({
      ratio: 1,
      overheadTokens: 30_000,
      samples: 10,
    });
  });

  const withoutEvidence = [
    ["no messages", []],
    ["no answers", [{ role: "user", content: "hi", timestamp: 0 } as Message]],
    [
      "three answers",
      simulatedSession({ texts: Array(3).fill(text(40_000)), counts: (t) => t.length, overheadTokens: 0 }),
    ],
    [
      "little text",
      simulatedSession({ texts: Array(50).fill(text(200)), counts: (t) => t.length, overheadTokens: 0 }),
    ],
  ] as const;
  it("has a ratio of 1 without evidence", () => {
    for (const [name, messages] of withoutEvidence)
      expect.soft(calibrate({ messages, base: chars4Estimator }).ratio, name).toBe(1);
  });

  it("does not take what the ratio misses for system prompt and tools, where a compaction left little to learn from", () => {
    const counts = (sample: string) => chars4Estimator.text(sample) * 1.45;
    const before = simulatedSession({
      texts: Array.from({ length: 20 }, () => text(8_000)),
      counts,
      overheadTokens: 30_000,
    });
    const prior = calibrate({ messages: before, base: chars4Estimator });
    // 20,000 tokens that are kept, and a few short requests.
    const after = simulatedSession({
      texts: [text(80_000), ...Array.from({ length: 6 }, () => text(400))],
      counts,
      overheadTokens: 30_000,
    });
    const found = calibrate({ messages: after, base: chars4Estimator, prior });
    expect(found.ratio).toBe(prior.ratio);
    expect(Math.abs(found.overheadTokens - 30_000)).toBeLessThan(100);
  });

  it("stays within 0.5 and 2.5, whatever is reported", () => {
    const texts = Array.from({ length: 10 }, () => text(4000));
    const found = (perToken: number) =>
      calibrate({
        messages: simulatedSession({
          texts,
          counts: (t) => chars4Estimator.text(t) * perToken,
          overheadTokens: 0,
        }),
        base: chars4Estimator,
      }).ratio;
    expect(found(0.01)).toBe(0.5);
    expect(found(5)).toBe(2.5);
  });

  it("learns nothing from what no request can have used", () => {
    const texts = Array.from({ length: 40 }, () => text(4000));
    const messages = (perToken: number) =>
      simulatedSession({ texts, counts: (t) => chars4Estimator.text(t) * perToken, overheadTokens: 0 });
    expect(calibrate({ messages: messages(1e12), base: chars4Estimator })).toEqual({
      ratio: 1,
      overheadTokens: 0,
      samples: 0,
    });
  });

  it("is not moved by a few absurd reports", () => {
    const texts = Array.from({ length: 40 }, () => text(4000));
    const messages = simulatedSession({
      texts,
      counts: (t) => chars4Estimator.text(t) * 1.3,
      overheadTokens: 2000,
    });
    messages[21] = answer(3);
    messages[41] = answer(9_000_000);
    expect(calibrate({ messages, base: chars4Estimator }).ratio).toBeCloseTo(1.3, 2);
  });

  it("survives a context that shrank unseen", () => {
    const texts = Array.from({ length: 40 }, () => text(4000));
    const before = simulatedSession({
      texts,
      counts: (t) => chars4Estimator.text(t) * 1.3,
      overheadTokens: 2000,
    });
    const after = simulatedSession({
      texts,
      counts: (t) => chars4Estimator.text(t) * 1.3,
      overheadTokens: 2000,
    });
    expect(calibrate({ messages: [...before, ...after], base: chars4Estimator }).ratio).toBeCloseTo(1.3, 2);
  });

  it("listens to the model that answered last, not to others", () => {
    const texts = Array.from({ length: 12 }, () => text(4000));
    const dense = simulatedSession({
      texts,
      counts: (t) => chars4Estimator.text(t) * 2,
      overheadTokens: 0,
      model: "dense",
    });
    const plain = simulatedSession({
      texts,
      counts: chars4Estimator.text,
      overheadTokens: 0,
      model: "plain",
    });
    expect(calibrate({ messages: [...plain, ...dense], base: chars4Estimator })).toMatchObject({
      ratio: 2,
      samples: 12,
    });
    expect(calibrate({ messages: [...dense, ...plain], base: chars4Estimator })).toMatchObject({
      ratio: 1,
      samples: 12,
    });
  });

  it("does not count answers that are stale, failed or without usage", () => {
    const texts = Array.from({ length: 8 }, () => text(4000));
    const messages = simulatedSession({ texts, counts: chars4Estimator.text, overheadTokens: 0 });
    const bad = [answer(7, "m", "error"), answer(7, "m", "aborted"), answer(0)];
    const found = calibrate({
      messages: [...messages, ...bad],
      base: chars4Estimator,
      isStale: (index) => index < 6,
    });
    expect(found).toMatchObject({ ratio: 1, samples: 5 });
  });

  it("leaves images alone", () => {
    const image = { type: "image", data: "", mimeType: "image/png" } as const;
    const messages = simulatedSession({
      texts: Array.from({ length: 10 }, () => text(4000)),
      counts: (t) => chars4Estimator.text(t) * 2,
      overheadTokens: 0,
    });
    const withImage: Message[] = [
      { role: "user", content: [image], timestamp: 0 },
      ...messages.map((message) =>
        isGoodAnswer(message) ? answer(inputTokens(message.usage) + 1200) : message,
      ),
    ];
    const calibration = calibrate({ messages: withImage, base: chars4Estimator });
    expect(calibration).toEqual({ ratio: 2, overheadTokens: 0, samples: 10 });
    const estimator = calibratedEstimator(calibration, chars4Estimator);
    expect(estimator.message({ role: "user", content: [image], timestamp: 0 })).toBe(1200);
    expect(estimator.text("12345678")).toBe(4);
  });

  it("is total over damaged messages", () => {
    const garbage = fc.oneof(
      fc.anything(),
      fc.record({ role: fc.constant("assistant"), usage: fc.anything() }),
    );
    fc.assert(
      fc.property(fc.array(garbage), (messages) => {
        const { ratio, overheadTokens } = calibrate({
          messages: messages as Message[],
          base: tokenEstimator,
        });
        expect(ratio).toBeGreaterThanOrEqual(0.5);
        expect(overheadTokens).toBeGreaterThanOrEqual(0);
      }),
    );
  });
});

describe("the calibrated estimator on later requests", () => {
  it("predicts within 10% after a tenth of a mixed session of a denser model", () => {
    const texts = Array.from({ length: 6 }, () => sampleTexts().map((sample) => sample.text)).flat();
    const counts = (sample: string) => encode(sample).length * 1.3;
    const messages = simulatedSession({ texts, counts, overheadTokens: 1800 });
    for (const at of [99, 199, messages.length - 1]) {
      const ratio = predicted(messages, Math.floor(messages.length / 10), at);
      expect(ratio).toBeGreaterThan(0.9);
      expect(ratio).toBeLessThan(1.1);
    }
    expect(estimateOf(messages, tokenEstimator)).toBeLessThan(0.9 * counts(texts.join("\n")));
  });

  it("predicts the recorded session's last request within 10% from its first 100 messages, where it is there", () => {
    const file = recordedSession();
    if (file === undefined) return; // The session above is its generated counterpart.
    const messages = readFileSync(file, "utf8")
      .split("\n")
      .flatMap((line) => (line === "" ? [] : (JSON.parse(line).message ?? [])));
    for (const learnFrom of [50, 100, 400, 700]) {
      const ratio = predicted(messages, learnFrom, messages.findLastIndex(isGoodAnswer));
      expect(ratio).toBeGreaterThan(0.9);
      expect(ratio).toBeLessThan(1.1);
    }
  });
});
