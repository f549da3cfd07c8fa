import { redactSecrets, SecretFilter } from "@bonsai-agent/messages";
import { isSecretName } from "@bonsai-agent/messages/host";
import fc from "fast-check";
import { describe, expect, test } from "vitest";

/** Made up in pieces, so that this file holds nothing that a scanner takes for a secret. */
const LETTERS = "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1eF3hJ5kL7nP9rS1uV3xY5";
const random = (length: number) => LETTERS.repeat(3).slice(0, length);

/** Each kind of place; `secret-shapes.test.ts` has each kind of key. */
const SECRETS: Array<[what: string, text: string]> = [
  ["Anthropic", `sk-${"ant"}-api03-${random(40)}`],
  ["OpenAI", `sk-${random(48)}`],
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
  ["number in JSON", '{"password": "48151623"}'],
  ["password in YAML", "password: hunter2x"],
  ["password of words in YAML, upper case", "  POSTGRES_PASSWORD: correcthorse"],
  ["export in a shell", `export DEPLOY_TOKEN=${random(20)}`],
  ["quotes in a shell", `export DB_PASS='${random(8)};&|${random(8)}'`],
  ["any sign in an environment file", `DB_PASSWORD=${random(6)}(;,{"correct`],
  ["an environment file within JSON", `{"content":"A=1\\nDB_PASSWORD=correcthorse\\nB=2"}`],
  ["a line with its number", `12\tAPI_SECRET=${random(20)}`],
  ["a name with a prefix", `spring.datasource.password=correcthorse`],
  ["npm's file", `//registry.example/:_authToken=${random(30)}`],
  ["a key by an ordinary name", `STRIPE_KEY=${random(24)}`],
  ["Go", `password := "${random(12)}"`],
  ["PHP", `'password' => '${random(12)}'`],
  ["a list", `setProperty("db.password", "${random(12)}")`],
  ["XML", `<apiKey>${random(20)}</apiKey>`],
  ["camel case", `accessToken: "${random(30)}"`],
  ["query", `GET https://example.com/v1?key=${random(12)}&alt=json`],
  ["signed link", `https://example.com/a?X-Amz-Signature=${random(40)}`],
  ["user of an address", `https://${random(30)}@example.com/a.git`],
  ["address with a sign in the password", "postgres://app:hunter@hunter2@db.example/app"],
  ["cookie", `Cookie: session=${random(20)}`],
  ["header with another word", `authorization: token ${random(20)}`],
  ["basic header", "Authorization: Basic Y29ycmVjdA=="],
  ["curl", `curl -u admin:${random(10)} https://example.com`],
  ["flag", `login --password ${random(12)}`],
  ["prose", "the password is hunter2correct"],
  ["another language", "密码是 hunter2correct"],
  ["netrc", `machine example.com login me password correcthorse`],
  ["kubeconfig", `client-key-data: ${random(40)}`],
  ["private key without its beginning", `${random(60)}\n${random(60)}\n-----END RSA PRIVATE KEY-----`],
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
  "token count 12",
  "tokens: 123",
  '{"totalTokens":48151,"tokensBefore":"12k3"}',
  "interface Login { password: string; token?: string }",
  "TOKEN=$TOKEN2",
  "export API_KEY=<your-key-1>",
  "apiKey: process.env.OPENAI_API_KEY2,",
  "API_KEY=your-api-key-1",
  "API_KEY=xxxxxxxxxxxx",
  'apiKeyEnv: "BOX_KEY_1"',
  "secretName: web-tls-2024",
  "token_type=bearer2",
  "const secret = base64Secret;",
  "client.login(user, password);",
  "password = hashed.value2",
  "if (token === undefined) return;",
  "https://example.com/list?key=name&page=2",
  "?code=404",
  "docker run -u 1000:1000 image",
  "postgres://user:password@localhost/app",
  "https://user:$" + "{PASSWORD_1}@example.com",
  "the token is missing",
  "password: ********",
  "cookie: string",
  "pass the test 12 times",
  "a basic HTTP/1.1 client",
  "function pbkdf2(password: Uint8Array, salt: Uint8Array): Uint8Array;",
  "PWD=/home/me/project1",
  "monkey=patch123 turkey: abc12345",
  "| API key | `ANTHROPIC_API_KEY` |",
  "Bearer $" + "{API_TOKEN_NUMBER_1}",
];

describe("redactSecrets", () => {
  test("redacts each kind of secret once, and leaves no part of it", () => {
    for (const [name, secret] of SECRETS) {
      const filter = new SecretFilter();
      const text = `before\n${filter.text(secret)}\nafter`;
      expect.soft(filter.count, name).toBe(1);
      expect.soft(text, name).toMatch(/^before\n.*\[redacted: [a-zA-Z ]+\]/s);
      for (let at = 0; at + 16 <= LETTERS.length; at += 1)
        expect.soft(text, name).not.toContain(LETTERS.slice(at, at + 16));
      expect.soft(redactSecrets(text), name).toBe(text);
      for (const word of ["hunter", "correct", "horse", "A1B2C3D4"])
        expect.soft(text, name).not.toContain(word);
    }
  });

  test("leaves code, hashes and words alone", () => {
    for (const text of CLEAN) expect.soft(redactSecrets(text), text).toBe(text);
  });

  // No clock is read: where time were quadratic, these would take hours.
  const pieces = [
    ...["a", "sk-", "-eyJ", "eyJ", "-sk-ant-", "token", "token=", "-token", "_token-", "password "],
    ...["api_key:", "-----BEGIN PRIVATE KEY-----", "-----BEGIN ", "-----END ", "http://a", "a:"],
    ...["://", "Bearer ", "Basic\n", "xoxb-", "gsk_", "glpat-", "a.", "a-", "=", "\\", '"'],
    ...['secret"', "key=", "AKIA", "AIza", "pypi-", "SG.", "sk_live_"],
    ...["https://hooks.slack.com/services/", "password=a;", "token = ", "token\n", "passwd passwd:"],
    ...["?key=", "Cookie: a=", "-u a:", "api_key>", "TOKEN=\n", "login a ", "aaaaaaaaaaaaaaaaaaaa\n"],
    ...["export _KEY "],
  ];
  test("Invariant: a quarter of a megabyte of any piece is read in linear time", () => {
    const size = 1 << 18;
    for (const piece of pieces) {
      const text = redactSecrets(piece.repeat(size / piece.length));
      const spaced = redactSecrets(`${piece}${" ".repeat(size)}${piece}`);
      expect(text.length + spaced.length).toBeGreaterThan(0);
    }
  });
});

describe("SecretFilter", () => {
  const filter = () => new SecretFilter([`${random(12)}stored`]);

  test("redacts a value everywhere once its name gave it away", () => {
    const own = filter();
    own.text(`SERVICE_TOKEN=${random(18)}`);
    expect(own.text(`curl -H "X: ${random(18)}"`)).toBe('curl -H "X: [redacted: secret]"');
  });

  test("redacts stored keys whatever they look like", () => {
    expect(filter().text(`a ${random(12)}stored b`)).toBe("a [redacted: stored key] b");
  });

  test("keeps ordinary words of a password elsewhere", () => {
    const own = filter();
    expect(own.text("ADMIN_PASSWORD=postgres")).toBe("ADMIN_PASSWORD=[redacted: secret]");
    expect(own.text("start postgres")).toBe("start postgres");
  });

  test("reads the names of fields, and returns the same object without secrets", () => {
    const clean = { role: "user", content: [{ type: "text", text: "tokens: 12" }], totalTokens: 12 };
    expect(filter().value(clean)).toBe(clean);
    const list = [{ name: "API_TOKEN", value: "correct-horse" }];
    expect(filter().value({ env: list, password: "hunterhunter" })).toEqual({
      env: [{ name: "API_TOKEN", value: "[redacted: secret]" }],
      password: "[redacted: secret]",
    });
  });

  test("redacts keys of objects, whatever their values are", () => {
    const key = `sk-ant-api03-${random(24)}`;
    const mask = "[redacted: API key]";
    expect(filter().value({ uses: { [key]: 3 }, seen: { [key]: true } })).toEqual({
      uses: { [mask]: 3 },
      seen: { [mask]: true },
    });
  });

  test("Markdown escapes hide no key", () => {
    expect(filter().text(`sk\\_live\\_${random(24)}`)).toBe("[redacted: key]");
  });
});

test("redacts a shortened key only on request", () => {
  const text = `Incorrect key: sk-ab***${"yz12"}`;
  expect(redactSecrets(text)).toBe(text);
  expect(redactSecrets(text, { isStrict: true })).toBe("Incorrect key: [redacted: API key]");
});

const secretNames = [
  "API_KEY",
  "x-api-key",
  "clientSecret",
  "DB_PASS",
  "GITHUB_TOKEN",
  "password",
  "_authToken",
];
test("knows the names of secrets", () => {
  for (const name of secretNames) expect.soft(isSecretName(name), name).toBe(true);
});
const otherNames = [
  "tokens",
  "tokenCount",
  "apiKeyEnv",
  "monkey",
  "PWD",
  "key",
  "secretName",
  "passwordPolicy",
];
test("knows names that are no secret's", () => {
  for (const name of otherNames) expect.soft(isSecretName(name), name).toBe(false);
});

const notation: ReadonlyArray<(name: string, value: string) => string> = [
  (name, value) => `${name}=${value}`,
  (name, value) => `export ${name}="${value}"`,
  (name, value) => `{"${name}":"${value}","port":8080}`,
  (name, value) => `env:\n  ${name}: ${value}`,
  (name, value) => `const x = { ${name}: '${value}' };`,
  (name, value) => JSON.stringify({ text: `A=1\n${name}=${value}\nB=2` }),
];

test("a random secret under a name never stays, and the text around it does", () => {
  const word = fc.stringMatching(/^[a-zA-Z0-9_+~!@#%^-]{6,30}$/);
  const secret = word.map((each) => `a7${each}`);
  const name = fc.constantFrom("DB_PASSWORD", "API_KEY", "clientSecret", "AUTH_TOKEN", "STRIPE_SECRET_KEY");
  const around = fc.stringMatching(/^[a-z .,]{0,40}$/);
  fc.assert(
    fc.property(
      around,
      name,
      secret,
      fc.constantFrom(...notation),
      around,
      (before, key, value, write, after) => {
        const text = redactSecrets(`${before}\n${write(key, value)}\n${after}`);
        expect(text).not.toContain(value);
        expect(text).toBe(`${before}\n${write(key, "[redacted: secret]")}\n${after}`);
      },
    ),
    { numRuns: 200 },
  );
});
