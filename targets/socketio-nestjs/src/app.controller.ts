import { Controller, Get } from '@nestjs/common';

/** Says that the server is there. */
@Controller()
export class AppController {
  @Get()
  root(): string {
    return '';
  }
}
