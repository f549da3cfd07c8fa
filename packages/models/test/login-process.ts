import { once } from "node:events";
import { fileKeys } from "@bonsai-agent/models";
import { oauthLogin } from "@bonsai-agent/models/login";
import { lab, labOptions } from "./login-user.ts";

// A process that stores keys, and wants the key of a login when it is told to go: login-process.ts HOME URL
const [, , home = "", url = ""] = process.argv;
const keys = fileKeys({ home, env: {} });
keys.logins.add("lab", oauthLogin(labOptions({ url })));
process.stdout.write("\n");
await once(process.stdin, "data");
for (let index = 0; index < 20; index += 1) keys.store(`p${process.pid}-${index}`, "key");
process.stdout.write((await keys.freshKey?.(lab)) ?? "");
