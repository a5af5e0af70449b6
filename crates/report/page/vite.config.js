// One script without imports, which the report carries in itself.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { defineConfig } from "vite";

const notice = readFileSync(new URL("NOTICE.txt", import.meta.url), "utf8").trim();

/**
 * Puts the licences of what is bundled first, where no minifier takes them away; leaves nothing that would end the
 * script's element; and names the hash by which the page's policy knows the script.
 */
const finish = {
  name: "finish",
  generateBundle(_options, bundle) {
    for (const chunk of Object.values(bundle)) {
      chunk.code = `/*!\n${notice}\n*/\n${chunk.code.replaceAll("</script", "<\\/script").trim()}\n`;
      const sha256 = createHash("sha256").update(chunk.code).digest("base64");
      this.emitFile({ type: "asset", fileName: "report.sha256", source: `${sha256}\n` });
    }
  },
};

export default defineConfig({
  define: { "process.env.NODE_ENV": '"production"' },
  plugins: [finish],
  build: {
    lib: { entry: "src/main.ts", formats: ["iife"], name: "throng", fileName: () => "report.js" },
    target: "es2022",
    reportCompressedSize: false,
  },
});
