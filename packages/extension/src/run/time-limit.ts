import { BonsaiError } from "@bonsai-agent/messages";

/** As long as handlers have before they are named. */
const factoryLimitMs = 30_000;

/** Gives up on a factory that does not end. @throws BonsaiError `extension_hung`, and what the factory throws */
export async function withTimeLimit(source: string, work: () => Promise<void>): Promise<void> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(hung(source)), factoryLimitMs);
  try {
    await Promise.race([work(), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

function hung(source: string): BonsaiError {
  return new BonsaiError({
    code: "extension_hung",
    message: `${source} did not end its start within ${factoryLimitMs / 1_000} s.`,
    hint: "Let the extension do slow work in its handler of session_start, without awaiting it in the module's function.",
  });
}
