import {
  chmodSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { BonsaiError } from "@bonsai-agent/messages";
import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { KeyFile } from "../src/keys/keys.ts";
import type { ProviderConfig } from "../src/model.ts";

const anthropic: ProviderConfig = {
  provider: "anthropic",
  api: "anthropic-messages",
  baseUrl: "https://anthropic.example",
  apiKeyEnv: "ANTHROPIC_API_KEY",
};
const local: ProviderConfig = { provider: "local", api: "openai-chat", baseUrl: "http://127.0.0.1:1/v1" };
const secret = "sk-very-secret-0123456789";

function homeWith(auth?: unknown, mode = 0o600): string {
  const home = mkdtempSync(join(tmpdir(), "bonsai-keys-"));
  if (auth === undefined) return home;
  const file = join(home, "auth.json");
  writeFileSync(file, typeof auth === "string" ? auth : JSON.stringify(auth));
  chmodSync(file, mode);
  return home;
}

const entry = { type: "api_key", key: secret };

function failure(work: () => unknown): BonsaiError {
  try {
    work();
  } catch (error) {
    if (BonsaiError.is(error)) return error;
    throw error;
  }
  throw new Error("It did not fail.");
}

describe("a key is found", () => {
  test("a key is found in each of its places, in this order", () =>
    everyRow<[string, unknown, Record<string, string>, string | undefined, string | undefined]>([
      ["nowhere", undefined, {}, undefined, undefined],
      [
        "in the environment first",
        { anthropic: entry },
        { ANTHROPIC_API_KEY: "env-key" },
        "env-key",
        "environment",
      ],
      ["in the file", { anthropic: entry }, {}, secret, "file"],
      [
        "in the file when the variable is empty",
        { anthropic: entry },
        { ANTHROPIC_API_KEY: "" },
        secret,
        "file",
      ],
      ["without the line break around it", undefined, { ANTHROPIC_API_KEY: " key\n" }, "key", "environment"],
      ["without a type", { anthropic: { key: secret } }, {}, secret, "file"],
      [
        "not in a sign-in of another kind",
        { anthropic: { type: "oauth", access: "x" } },
        {},
        undefined,
        undefined,
      ],
      ["not in an entry of another provider", { openai: entry }, {}, undefined, undefined],
      ["not in what every object has", {}, {}, undefined, undefined],
    ])(([, auth, env, key, source]) => {
      const keys = new KeyFile({ home: homeWith(auth), env });
      expect(keys.key(anthropic)).toBe(key);
      expect(keys.source(anthropic)).toBe(source);
    }));

  test("for a provider without a variable, and for one with an odd name", () => {
    const keys = new KeyFile({ home: homeWith({ local: entry }), env: {} });
    expect(keys.key(local)).toBe(secret);
    expect(keys.key({ ...local, provider: "constructor" })).toBeUndefined();
  });
});

describe("a key is stored", () => {
  test("for its owner's eyes, in a folder of its own, beside what was there", () => {
    const home = join(homeWith(), "deep", "home");
    const keys = new KeyFile({ home, env: {} });
    keys.store("anthropic", ` ${secret}\n`);
    keys.store("openai", "other");
    expect(keys.key(anthropic)).toBe(secret);
    expect(JSON.parse(readFileSync(join(home, "auth.json"), "utf8"))).toEqual({
      anthropic: entry,
      openai: { type: "api_key", key: "other" },
    });
    expect(statSync(join(home, "auth.json")).mode & 0o777).toBe(0o600);
    expect(statSync(home).mode & 0o777).toBe(0o700);
    expect(readdirSync(home)).toEqual(["auth.json"]);
  });

  test("in a file that others could read, which they then cannot", () => {
    const home = homeWith({ github: { type: "oauth", refresh: "r" } }, 0o644);
    new KeyFile({ home, env: {} }).store("anthropic", secret);
    expect(statSync(join(home, "auth.json")).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(join(home, "auth.json"), "utf8")).github).toEqual({
      type: "oauth",
      refresh: "r",
    });
  });

  test("behind a link, which stays one", () => {
    const real = join(homeWith({}), "auth.json");
    const home = homeWith();
    symlinkSync(real, join(home, "auth.json"));
    new KeyFile({ home, env: {} }).store("anthropic", secret);
    expect(lstatSync(join(home, "auth.json")).isSymbolicLink()).toBe(true);
    expect(JSON.parse(readFileSync(real, "utf8"))).toEqual({ anthropic: entry });
  });

  test("not in a damaged file, which stays as it is", () => {
    const home = homeWith(`{"anthropic": "${secret}`);
    expect(failure(() => new KeyFile({ home, env: {} }).store("openai", "k")).code).toBe("keys_unreadable");
    expect(readFileSync(join(home, "auth.json"), "utf8")).toBe(`{"anthropic": "${secret}`);
    expect(readdirSync(home)).toEqual(["auth.json"]);
  });

  test("and removed", () => {
    const home = homeWith({ anthropic: entry, openai: entry });
    const keys = new KeyFile({ home, env: {} });
    expect(keys.remove("anthropic")).toBe(true);
    expect(keys.remove("anthropic")).toBe(false);
    expect(keys.key(anthropic)).toBeUndefined();
    expect(JSON.parse(readFileSync(join(home, "auth.json"), "utf8"))).toEqual({ openai: entry });
  });
});

describe("no error holds a key", () => {
  test("a damaged auth file is refused without its keys", () =>
    everyRow<[string, unknown, string]>([
      ["no JSON", `{"anthropic": {"key": "${secret}"`, "keys_unreadable"],
      ["bare key", secret, "keys_unreadable"],
      ["a list", [secret], "keys_unreadable"],
      ["a text in the place of an entry", { anthropic: secret }, "keys_unreadable"],
      ["a key that is no text", { anthropic: { key: [secret] } }, "keys_invalid"],
      ["an entry without a key", { anthropic: { type: "api_key", note: secret } }, "keys_invalid"],
      ["a key with a blank", { anthropic: { key: `${secret} ${secret}` } }, "keys_invalid"],
      ["a key in quotation marks", { anthropic: { key: `'${secret}'` } }, "keys_invalid"],
      ["an empty key", { anthropic: { key: " " } }, "keys_invalid"],
    ])(([, auth, code]) => {
      const error = failure(() => new KeyFile({ home: homeWith(auth), env: {} }).key(anthropic));
      expect(error.code).toBe(code);
      expect(error.message).toContain("auth.json");
      expect(inspect(error, { depth: 9 })).not.toContain(secret.slice(0, 8));
      expect(`${error.message}${error.hint}${error.stack}`).not.toContain(secret.slice(0, 8));
    }));

  test("nor does one of the environment", () => {
    const env = { ANTHROPIC_API_KEY: `${secret}\u201d` };
    const error = failure(() => new KeyFile({ home: homeWith(), env }).key(anthropic));
    expect(error.code).toBe("keys_invalid");
    expect(error.message).toContain("ANTHROPIC_API_KEY");
    expect(inspect(error, { depth: 9 })).not.toContain(secret.slice(0, 8));
  });

  test("a file of keys is not printed with its owner", () => {
    const keys = new KeyFile({ home: homeWith({ anthropic: entry }), env: { ANTHROPIC_API_KEY: secret } });
    expect(inspect(keys, { depth: 9 }) + JSON.stringify(keys)).not.toContain(secret.slice(0, 8));
  });
});

describe("a file that others can read", () => {
  test("the file's mode is reported once if others can read it", () =>
    everyRow([
      [0o644, 1],
      [0o640, 1],
      [0o600, 0],
    ])(([mode, times]) => {
      const notices: { code: string; message: string }[] = [];
      const home = homeWith({ anthropic: entry }, mode);
      const keys = new KeyFile({ home, env: {}, onNotice: (notice) => notices.push(notice) });
      keys.key(anthropic);
      keys.key(anthropic);
      expect(notices).toHaveLength(times);
      for (const { code, message } of notices) {
        expect(code).toBe("keys_exposed");
        expect(message).toContain("chmod 600");
        expect(message).not.toContain(secret);
      }
    }));

  test("is reported also if the key comes from the environment", () => {
    const notices: { code: string; message: string }[] = [];
    const home = homeWith({ other: entry }, 0o644);
    const keys = new KeyFile({
      home,
      env: { ANTHROPIC_API_KEY: secret },
      onNotice: (each) => notices.push(each),
    });
    keys.key(anthropic);
    expect(notices.map(({ message }) => message)).toEqual([expect.stringContaining("auth.json")]);
  });

  test.each([
    [{ headers: { "x-api-key": "abc-123-def" } }, 1],
    [{ apiKeyEnv: "BOX_KEY" }, 0],
  ])("models.json with %j gives %i notices", (fields, count) => {
    const notices: { code: string; message: string }[] = [];
    const home = homeWith();
    const file = join(home, "models.json");
    writeFileSync(file, JSON.stringify({ providers: [{ provider: "box", ...fields }] }));
    chmodSync(file, 0o644);
    new KeyFile({ home, env: {}, onNotice: (each) => notices.push(each) }).key(local);
    expect(notices.map(({ message }) => message)).toEqual(
      Array.from({ length: count }, () => expect.stringContaining("models.json")),
    );
  });
});

describe("the known secrets", () => {
  test("include the variables that models.json names, before any request", () => {
    const home = homeWith();
    const providers = [{ provider: "box", apiKeyEnv: "BOX_KEY" }];
    writeFileSync(join(home, "models.json"), JSON.stringify({ providers }));
    const keys = new KeyFile({ home, env: { BOX_KEY: secret, OTHER: "other-value-12345" } });
    expect(keys.secrets?.()).toEqual([{ name: "BOX_KEY", value: secret }]);
  });

  test("include each key that a request was made with", () => {
    const keys = new KeyFile({ home: homeWith(), env: { MY_BOX: secret } });
    keys.key({ ...local, apiKeyEnv: "MY_BOX" });
    expect(keys.secrets?.()).toEqual([{ name: "MY_BOX", value: secret }]);
  });
});
