import { once } from "node:events";
import { KeyFile } from "@bonsai-agent/models";
import { oauthLogin } from "@bonsai-agent/models/login";
import { lab, labOptions } from "./login-user.ts";

// A process that stores keys, and wants the key of a login when it is told to go: login-process.ts [HOME URL]...
// Prints the key of each home on a line of its own.
const places = process.argv.slice(2);
process.stdout.write("\n");
await once(process.stdin, "data");
for (let at = 0; at < places.length; at += 2) {
  const keys = new KeyFile({ home: places[at]!, env: {} });
  keys.logins.add("lab", oauthLogin(labOptions({ url: places[at + 1]! })));
  for (let index = 0; index < 10; index += 1) keys.store(`p${process.pid}-${index}`, "key");
  process.stdout.write(`${(await keys.freshKey?.(lab)) ?? ""}\n`);
}
