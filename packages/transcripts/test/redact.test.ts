import { redactSecrets } from "@bonsai-agent/transcripts";
import { describe, expect, test } from "vitest";

/** Made up in pieces, so that this file holds nothing that a scanner takes for a secret. */
const LETTERS = "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1eF3hJ5kL7nP9rS1uV3xY5";
const random = (length: number) => LETTERS.repeat(3).slice(0, length);

const SECRETS: Array<[what: string, text: string]> = [
  ["Anthropic", `sk-${"ant"}-api03-${random(40)}`],
  ["OpenAI", `sk-${random(48)}`],
  ["OpenAI project", `sk-proj-${random(60)}`],
  ["Google", `AIza${random(35)}`],
  ["GitHub", `ghp_${random(36)}`],
  ["GitHub, fine-grained", `github_pat_${random(40)}`],
  ["GitLab", `glpat-${random(20)}`],
  ["Slack", `xoxb-${"1".repeat(12)}-${random(20)}`],
  ["npm", `npm_${random(36)}`],
  ["Hugging Face", `hf_${random(34)}`],
  ["AWS", `AKIA${"A1B2C3D4E5F6G7H8"}`],
  ["Stripe", `sk_live_${random(24)}`],
  ["JSON web token", `eyJ${random(20)}.eyJ${random(30)}.${random(40)}`],
  ["Fireworks", `fw_${random(24)}`],
  ["Together", `tgp_v1_${random(43)}`],
  ["Cerebras", `csk-${random(48)}`],
  ["NVIDIA", `nvapi-${random(64)}`],
  ["ElevenLabs", `sk_${random(48)}`],
  ["public key of Stripe", `pk_live_${random(24)}`],
  ["header in quotes", `Authorization: Bearer "${random(30)}"`],
  ["header in brackets", `(Bearer ${random(30)})`],
  ["header", `Authorization: Bearer ${random(30)}`],
  ["connection string", "postgres://app:hunter2hunter@db.example/app"],
  ["environment file", `DATABASE_PASSWORD=${random(16)}`],
  ["JSON", `{"api_key": "${random(20)}"}`],
  ["JSON in JSON", `{\\"client_secret\\":\\"${random(20)}\\"}`],
  ["password of words", "DB_PASSWORD=correct-horse-battery"],
  ["password of words that a difference takes out", "-DB_PASSWORD=hunterunderpatch"],
  ["password of words in quotes", 'password: "correcthorse"'],
  ["password of words in JSON", '{"db_password":"correct-horse"}'],
  ["password of words in YAML", "password: correct-horse-battery"],
  ["password of words on a command line", "--password=correct-horse-battery"],
  ["token of words", "SECRET_TOKEN=correcthorse"],
  ["API key in a header", `x-api-key: ${random(20)}`],
  ["private key", `-----BEGIN RSA PRIVATE KEY-----\n${random(60)}\n-----END RSA PRIVATE KEY-----`],
  ["private key that is cut off", `-----BEGIN PRIVATE KEY-----\n${random(60)}\n${random(60)}`],
];

const CLEAN = [
  "commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
  "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
  "id 3f0c2a10-0000-4000-8000-000000000001",
  "maxTokens = 200000 and tokensBefore: 123456",
  "const token: string = readToken();",
  "password: process.env.DB_PASSWORD1",
  "the sk-button-group-container-large class",
  "https://example.com:8080/path@2",
  "git@github.com:owner/name.git",
  "Basic understanding of the matter",
  "function getSecret(name: string) { return secrets[name]; }",
  "password: string;",
  "password?: string | undefined",
  "PASSWORD=$VAR",
  "PASSWORD=$" + "{DB_PASSWORD}",
  "token = nextToken()",
  "password = getpass.getpass()",
  "secret: config.server.secret",
  "const token = stream.next;",
  "password: required",
  "Wrong password: try again.",
  "tokens: contextTokens",
  "the token: a word",
  '{"type":"password","name":"string"}',
  "eyJ is how such a token begins",
  "constraint pk_order_items_2024_archive_partition",
  "Bearer <your-token-number-1>",
  "Bearer $" + "{API_TOKEN_NUMBER_1}",
];

describe("redactSecrets", () => {
  test.each(SECRETS)("%s", (_, secret) => {
    const { text, count } = redactSecrets(`before ${secret} after`);
    expect(count).toBe(1);
    expect(text).toMatch(/^before .*\[redacted: [a-zA-Z ]+\]/s);
    for (let at = 0; at + 16 <= LETTERS.length; at += 1)
      expect(text).not.toContain(LETTERS.slice(at, at + 16));
    for (const word of ["hunter", "correct", "horse", "A1B2C3D4"]) expect(text).not.toContain(word);
  });

  test.each(CLEAN)("leaves alone: %s", (text) => {
    expect(redactSecrets(text)).toEqual({ text, count: 0 });
  });

  // No clock is read: where time were quadratic, these would take hours.
  test.each([
    ...[
      "a",
      "sk-",
      "-eyJ",
      "eyJ",
      "-sk-ant-",
      "token",
      "token=",
      "-token",
      "_token-",
      "password ",
      "api_key:",
    ],
    ...[
      "-----BEGIN PRIVATE KEY-----",
      "-----BEGIN ",
      "-----END ",
      "http://a",
      "a:",
      "://",
      "Bearer ",
      "Basic\n",
    ],
    ...[
      "xoxb-",
      "gsk_",
      "glpat-",
      "a.",
      "a-",
      "=",
      "\\",
      '"',
      'secret"',
      "key=",
      "AKIA",
      "AIza",
      "pypi-",
      "SG.",
    ],
    ...[
      "sk_live_",
      "https://hooks.slack.com/services/",
      "password=a;",
      "token = ",
      "token\n",
      "passwd passwd:",
    ],
  ])("a megabyte of %j", (piece) => {
    const size = 1 << 20;
    const { text } = redactSecrets(piece.repeat(size / piece.length));
    const { text: spaced } = redactSecrets(`${piece}${" ".repeat(size)}${piece}`);
    expect(text.length + spaced.length).toBeGreaterThan(0);
  });
});
