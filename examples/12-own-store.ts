/**
 * A store for session files of your own, here a Map. A session needs five methods; a suite checks them.
 *
 *     node 12-own-store.ts
 */
import { createSession, openSession, type SessionStore } from "@bonsai-agent/session";
import { sessionStoreCases } from "@bonsai-agent/session/store-conformance";

const cloud = new Map<string, Buffer>();

function cloudStore(name: string): SessionStore {
  const bytes = () => cloud.get(name) ?? Buffer.alloc(0);
  return {
    file: undefined,
    readOnly: undefined,
    size: () => bytes().length,
    read: (target, offset) => bytes().copy(target, 0, Math.min(offset, bytes().length)),
    append(text) {
      const added = Buffer.from(text);
      cloud.set(name, Buffer.concat([bytes(), added]));
      return added.length;
    },
    flush() {},
    close() {},
  };
}

const session = createSession({ store: cloudStore("monday"), cwd: "/project" });
session.append({ type: "message", message: { role: "user", content: "Hello", timestamp: 0 } });
session.close();
console.log(`${openSession({ store: cloudStore("monday") }).entries().length} entry in the cloud`);

let stores = 0;
const names = new Map<SessionStore, string>();
function named(name: string): SessionStore {
  const store = cloudStore(name);
  names.set(store, name);
  return store;
}
const cases = sessionStoreCases({
  create(content) {
    stores += 1;
    cloud.set(`test ${stores}`, Buffer.from(content));
    return named(`test ${stores}`);
  },
  reopen: (store) => named(names.get(store)!),
});
for (const { run } of cases) run();
console.log(`${cases.length} checks passed`);
