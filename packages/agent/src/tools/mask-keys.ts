/** By which name a variable holds a key. */
const keyName = /(?:API_?KEY|ACCESS_KEY|PRIVATE_KEY|SECRET|TOKEN|PASSWORD)$/i;
/** A shorter value is a switch or a word, and stands in outputs for other reasons. */
const MIN_KEY_CHARS = 16;

/**
 * Puts the name of a variable in place of the key in it. Commands inherit the whole environment, for a project's tests
 * need its keys as well; but what they print is stored and sent to a provider, whom other providers' keys do not concern.
 * It keeps from slips alone: a command can print a key in other forms.
 */
export function maskKeys(env: NodeJS.ProcessEnv): (text: string) => string {
  const keys = Object.entries(env).flatMap(([name, value = ""]) =>
    keyName.test(name) && value.length >= MIN_KEY_CHARS && !/[\s/\\]/.test(value) ? [{ name, value }] : [],
  );
  // Where one is the beginning of another, the longer is meant.
  keys.sort((a, b) => b.value.length - a.value.length);
  return (text) => keys.reduce((masked, { name, value }) => masked.replaceAll(value, `[${name}]`), text);
}
