import { history } from "@bonsai-agent/testkit";
import type { CompactOptions } from "../src/host/index.ts";
import type { ExtensionCommandContext, ExtensionContext } from "../src/index.ts";
import { openTestSession } from "../src/testing/index.ts";

type Options = NonNullable<Parameters<typeof openTestSession>[0]>;

/** A session whose extension hands out the context of the command `/ctx`. */
export async function contextStage(options: Options = {}) {
  let ctx: ExtensionCommandContext | undefined;
  const session = await openTestSession({
    ...options,
    extensions: [
      function probe(bonsai) {
        bonsai.registerCommand("ctx", {
          handler(_args, context) {
            ctx = context;
          },
        });
      },
      ...[options.extensions ?? []].flat(),
    ],
  });
  await session.command("/ctx");
  return { session, ctx: ctx! };
}

/** Two turns, the first one large. */
export const long = history("U:15000 A:15000 | U:100 A:100")
  .session.entries()
  .flatMap((entry) => (entry.type === "message" ? [entry.message] : []));

/** Calls `ctx.compact` and records its return and its callbacks. */
export function compaction(ctx: ExtensionContext, options: CompactOptions = {}) {
  const calls: unknown[] = [];
  const done = new Promise<void>((resolve) => {
    ctx.compact({
      ...options,
      onComplete: (result) => {
        calls.push(result);
        resolve();
      },
      onError: (error) => {
        calls.push(error);
        resolve();
      },
    });
    calls.push("returned");
  });
  return { calls, done };
}
