import { expect, test } from "vitest";
import { secretShapes } from "../src/text/secret-rules.ts";

/** Made up in pieces, so that this file holds nothing that a scanner takes for a secret. */
const random = (length: number) =>
  "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1eF3hJ5kL7nP9rS1uV3xY5".repeat(3).slice(0, length);

const SECRETS: readonly [what: string, text: string][] = [
  ["private key", `-----BEGIN RSA PRIVATE KEY-----\n${random(60)}\n-----END RSA PRIVATE KEY-----`],
  ["end of a private key", `${random(60)}\n-----END PRIVATE KEY-----`],
  ["Anthropic", `sk-${"ant"}-${random(40)}`],
  ["OpenAI", `sk-${"proj"}-${random(60)}`],
  ["Google", `AIza${random(35)}`],
  ["Google, longer than today", `AIza${random(60)}`],
  ["Groq", `gsk_${random(52)}`],
  ["xAI", `xai-${random(80)}`],
  ["Perplexity", `pplx-${random(48)}`],
  ["Replicate", `r8_${random(37)}`],
  ["NVIDIA", `nvapi-${random(30)}_${random(30)}`],
  ["Together", `tgp_v1_${random(43)}`],
  ["Cerebras", `csk-${random(48)}`],
  ["Fireworks", `fw_${random(24)}`],
  ["GitHub", `ghp_${random(36)}`],
  ["GitHub's servers", `ghs_${random(36)}`],
  ["GitHub, fine-grained", `github_pat_${random(40)}`],
  ["GitLab", `glpat-${random(20)}`],
  ["Slack", `xoxb-${random(24)}`],
  ["npm", `npm_${random(36)}`],
  ["npm, longer than today", `npm_${random(60)}`],
  ["PyPI", `pypi-${random(60)}`],
  ["Hugging Face", `hf_${random(34)}`],
  ["Google's sign-in", `ya29.${random(60)}`],
  ["SendGrid", `SG.${random(22)}.${random(43)}`],
  ["SendGrid, longer than today", `SG.${random(30)}.${random(60)}`],
  ["JSON web token", `eyJ${random(20)}.eyJ${random(30)}.${random(40)}`],
  ["AWS", `AKIA${"A1B2C3D4E5F6G7H8"}`],
  ["Stripe", `sk_live_${random(24)}`],
  ["public key of Stripe", `pk_test_${random(24)}`],
  ["ElevenLabs", `sk_${random(48)}`],
  ["Slack's webhook", `https://hooks.slack.com/services/T${random(30)}`],
];

test("finds each kind of secret, and nothing around it", () => {
  for (const [name, secret] of SECRETS) {
    const redacted = secretShapes.reduce(
      (text, { pattern }) => text.replaceAll(pattern, "#"),
      `is\n${secret}, no?`,
    );
    expect.soft(redacted, name).toBe("is\n#, no?");
  }
});

test("every shape has a secret that only it, or one before it, finds", () => {
  const finders = new Set(
    SECRETS.map(([, secret]) => secretShapes.findIndex(({ pattern }) => secret.search(pattern) >= 0)),
  );
  const spare = secretShapes.filter((_, at) => !finders.has(at)).map(({ pattern }) => pattern.source);
  expect(spare.filter((source) => !source.includes("hf-"))).toEqual([]);
});

test("each secret begins as its shape says", () => {
  for (const [name, secret] of SECRETS) {
    const shape = secretShapes.find(({ pattern }) => secret.search(pattern) >= 0);
    expect.soft(secret, name).toMatch(new RegExp(`^(?:${shape?.beginning ?? ""})`));
  }
});

const harmless = [
  "commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
  "id 3f0c2a10-0000-4000-8000-000000000001",
  "the sk-button-group-container-large class",
  "constraint pk_order_items_2024_archive_partition_2",
  "fw_update_service_version_2_of_the_device",
  "pk_abcdefghijklmnopqrstuvwxyz_2",
  "npm_config_registry and npm_package_version",
  "tgp_some_long_name_that_has_no_digits_at_all",
  "eyJ is how such a token begins",
];
test("finds nothing in hashes, names and words", () => {
  for (const text of harmless)
    expect
      .soft(
        secretShapes.filter(({ pattern }) => text.search(pattern) >= 0),
        text,
      )
      .toEqual([]);
});

// No clock is read: where time were quadratic, these would take hours.
const pieces = [
  ...[
    "sk-",
    "sk-a",
    "sk_",
    "-pk_",
    "fw-",
    "csk_a-",
    "tgp_",
    "-tgp-a",
    "nvapi-",
    "hf-",
    "hf_",
    "gsk_",
    "xoxb-",
  ],
  ...["eyJ", "-eyJ", "eyJ.", "SG.", "ya29.", "AKIA", "AIza", "-----BEGIN PRIVATE KEY-----", "-----BEGIN "],
  ...["https://hooks.slack.com/services/", "aaaaaaaaaaaaaaaaaaaa\n"],
];
test("Invariant: a quarter of a megabyte of any piece is searched in linear time", () => {
  const size = 1 << 18;
  for (const piece of pieces) {
    const long = piece.repeat(size / piece.length);
    const spaced = `${piece}${" ".repeat(size)}${piece}`;
    for (const { pattern } of secretShapes) {
      expect(long.replaceAll(pattern, "").length).toBeLessThanOrEqual(long.length);
      expect(spaced.replaceAll(pattern, "").length).toBeLessThanOrEqual(spaced.length);
    }
  }
});
