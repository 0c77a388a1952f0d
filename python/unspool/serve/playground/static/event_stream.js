// Reads a stream of server-sent events whose data are JSON.

/** Yields the data of each event until `[DONE]`. Throws the error that an event carries. */
export async function* readEvents(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) throw new Error("The connection ended before the answer was complete.");
    const events = (rest + value).split(/\r?\n\r?\n/);
    rest = events.pop();
    for (const event of events) {
      const lines = event.split(/\r?\n/).filter((line) => line.startsWith("data:"));
      const data = lines.map((line) => line.slice(5).trimStart()).join("\n");
      if (data === "") continue; // a comment, which keeps the connection alive
      if (data === "[DONE]") return;
      const parsed = JSON.parse(data);
      if (parsed.error) throw new Error(parsed.error.message ?? String(parsed.error));
      yield parsed;
    }
  }
}
