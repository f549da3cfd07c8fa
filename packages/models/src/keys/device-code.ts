import { BonsaiError } from "@bonsai-agent/messages";
import { sleep } from "@bonsai-agent/messages/host";
import type { DeviceAuthorizationResponse } from "oauth4webapi";
import { refusedWith } from "./callback.ts";
import type { LoginCredentials } from "./provider-login.ts";

interface DevicePoll {
  client: { pollOnce(deviceCode: string, signal: AbortSignal): Promise<LoginCredentials> };
  device: DeviceAuthorizationResponse;
  signal: AbortSignal;
  /** Default: a timer. */
  wait?: (ms: number, signal: AbortSignal) => Promise<unknown>;
}

/** Added to the interval after `slow_down`, as the protocol demands. */
const SLOWER_SECONDS = 5;
const DEFAULT_INTERVAL_SECONDS = 5;
/** The provider may be unreachable for a moment while the user types. */
const MAX_FAILURES = 5;

/**
 * Polls until the user has entered the code or denied the login, or the code has expired.
 * @throws BonsaiError `login_denied`, `login_timeout`, `login_refused`, `login_unanswered`
 */
export async function pollDevice({
  client,
  device,
  signal,
  wait = sleep,
}: DevicePoll): Promise<LoginCredentials> {
  const endsMs = performance.now() + device.expires_in * 1000;
  let intervalSeconds = device.interval ?? DEFAULT_INTERVAL_SECONDS;
  let failures = 0;
  while (performance.now() < endsMs) {
    await wait(intervalSeconds * 1000, signal);
    signal.throwIfAborted();
    try {
      return await client.pollOnce(device.device_code, signal);
    } catch (error) {
      signal.throwIfAborted();
      const word = refusedWith(error);
      if (word === "slow_down") intervalSeconds += SLOWER_SECONDS;
      if (word === "slow_down" || word === "authorization_pending") continue;
      failures += 1;
      if (!isPassing(error) || failures === MAX_FAILURES) throw isEnded(error) ? codeEnded() : error;
    }
  }
  throw codeEnded();
}

function isPassing(error: unknown): boolean {
  return BonsaiError.is(error) && error.code === "login_unanswered";
}

function isEnded(error: unknown): boolean {
  return BonsaiError.is(error) && error.code === "login_refused" && /\bexpired_token\b/.test(error.message);
}

function codeEnded(): BonsaiError {
  return new BonsaiError({
    code: "login_timeout",
    message: "The login code expired before you entered it.",
    hint: "Start the login again and enter the new code.",
  });
}
